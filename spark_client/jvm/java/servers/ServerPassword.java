package spark_client.servers;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

/** Checks the password of the clients of a Thrift server. All users have the same one. */
public final class ServerPassword implements PasswdAuthenticationProvider {
  public static volatile String password;

  public void Authenticate(String user, String given) throws AuthenticationException {
    byte[] expected = password.getBytes(StandardCharsets.UTF_8);
    if (!MessageDigest.isEqual(expected, given.getBytes(StandardCharsets.UTF_8))) {
      throw new AuthenticationException("the password is wrong");
    }
  }
}
