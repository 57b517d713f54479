package spark_client.core;

import java.lang.reflect.Constructor;
import java.util.function.BiFunction;

import org.apache.spark.unsafe.Platform;
import scala.runtime.AbstractFunction1;

/**
 * Makes the rule of each session, for SparkSessionExtensions. Rules get the session and Python if their constructors
 * ask for them.
 */
public final class RuleBuilder extends AbstractFunction1 {
  private final Constructor rule;
  private final Python python;

  public RuleBuilder(Class rule, BiFunction python) {
    this.rule = rule.getConstructors()[0];
    this.python = new Python(python);
  }

  public Object apply(Object session) {
    Object[] arguments = new Object[rule.getParameterCount()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = rule.getParameterTypes()[i] == Python.class ? (Object) python : session;
    }
    try {
      return rule.newInstance(arguments);
    } catch (ReflectiveOperationException failure) {
      Platform.throwException(failure);
      return null;
    }
  }
}
