package org.apache.hadoop.hive.ql.exec;

import java.util.List;
import org.apache.hive.com.esotericsoftware.kryo.Kryo;
import org.apache.hive.com.esotericsoftware.kryo.Serializer;
import org.apache.hive.com.esotericsoftware.kryo.io.Input;
import org.apache.hive.com.esotericsoftware.kryo.io.Output;

class SerializationUtilities {
    static class ArrayListSubListSerializer extends Serializer<List<?>> {
        public ArrayListSubListSerializer() {}
        @Override public List<?> read(Kryo kryo, Input input, Class<List<?>> type) { throw new UnsupportedOperationException(); }
        @Override public void write(Kryo kryo, Output output, List<?> list) { throw new UnsupportedOperationException(); }
    }
}
