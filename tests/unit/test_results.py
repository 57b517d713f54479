"""Results on the wire: stored encoded structs are the same for clients of every protocol."""

from __future__ import annotations

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolBase
from thrift.transport.TTransport import TMemoryBuffer

from metastore.encoding.binary import STOP, EncodedList, encode_fields
from metastore.protocol.messages import write_result
from thrift_idl.gen.hive_metastore.ThriftHiveMetastore import get_partitions_result
from thrift_idl.gen.hive_metastore.ttypes import Partition


@pytest.mark.parametrize("protocol", [TBinaryProtocolAccelerated, TCompactProtocolAccelerated])
@pytest.mark.parametrize("count", [0, 1, 100, 250])
def test_a_list_of_structs_that_are_stored_encoded(protocol: type[TProtocolBase], count: int) -> None:
    structs = [Partition(values=[str(number)], parameters={"p": "x" * number}) for number in range(count)]
    heads = [encode_fields(struct, Partition.thrift_spec[:2]) for struct in structs]
    tails = [encode_fields(struct, Partition.thrift_spec[2:]) + STOP for struct in structs]
    buffer = TMemoryBuffer()
    write_result(protocol(buffer), get_partitions_result(success=EncodedList(Partition, heads, tails)))
    partitions_result = get_partitions_result()
    partitions_result.read(protocol(TMemoryBuffer(buffer.getvalue() + b"next")))
    assert partitions_result.success == structs
