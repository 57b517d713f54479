"""Fields of Hive's classes, in the order in which Kryo writes them: by name.

The kind of a field is a letter:

* z, b, s, i, j, f, d: Java's boolean, byte, short, int, long, float, double
* Z, Y, H, I, J, F, D: their wrapper classes
* S: String; L: list of Strings; B: byte array; E: enumeration; t: LocalDate; u: LocalDateTime; W: HiveDecimalWritable
* o: any other object, preceded by its class

The lists were made from the classes of Hive 2.3.10, 3.1.3, 4.0.1 and 4.1.0. Names with OLD are for Kryo 3 (Hive 2.3 and
3.1), names with NEW for Kryo 5 (Hive 4).
"""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """The fields of a class: names ("" for fields that are skipped) and kinds."""

    names: tuple[str, ...]
    kinds: str


HADOOP = "org.apache.hadoop."
FUNCTIONS = f"{HADOOP}hive.ql.udf.generic.GenericUDF"
EXPRESSIONS = f"{HADOOP}hive.ql.plan.ExprNode"
VALUES = f"{HADOOP}hive.common.type."

_NAMED = {
    f"{EXPRESSIONS}GenericFuncDesc": "children:o genericUDF:o isSortedExpr:z typeInfo:o",
    f"{EXPRESSIONS}ColumnDesc": "column:S isPartitionColOrVirtualCol:z isSkewedCol:z tabAlias:S typeInfo:o",
    f"{EXPRESSIONS}ConstantDesc": "typeInfo:o value:o",
    f"{EXPRESSIONS}FieldDesc": "desc:o fieldName:S isList:Z typeInfo:o",
    f"{FUNCTIONS}Bridge": "isOperator:z udfClassName:S udfName:S",
    f"{HADOOP}hive.serde2.typeinfo.PrimitiveTypeInfo": "typeName:S",
    f"{HADOOP}hive.serde2.typeinfo.CharTypeInfo": "length:i typeName:S",
    f"{HADOOP}hive.serde2.typeinfo.VarcharTypeInfo": "length:i typeName:S",
    f"{HADOOP}hive.serde2.typeinfo.DecimalTypeInfo": "precision:i scale:i typeName:S",
    f"{HADOOP}hive.serde2.typeinfo.TimestampLocalTZTypeInfo": "timeZone:o typeName:S",
    f"{HADOOP}hive.serde2.typeinfo.ListTypeInfo": "listElementTypeInfo:o",
    f"{HADOOP}hive.serde2.typeinfo.MapTypeInfo": "mapKeyTypeInfo:o mapValueTypeInfo:o",
    f"{HADOOP}hive.serde2.typeinfo.StructTypeInfo": "allStructFieldNames:L allStructFieldTypeInfos:o",
    f"{VALUES}HiveChar": "value:S",
    f"{VALUES}HiveVarchar": "value:S",
    f"{VALUES}HiveDecimal": (
        "fast0:j fast1:j fast2:j fastIntegerDigitCount:i fastScale:i fastSerializationScale:i fastSignum:i"
    ),
    f"{VALUES}Date": "localDate:t",
    f"{VALUES}Timestamp": "localDateTime:u",
    f"{VALUES}HiveIntervalDayTime": "nanos:i totalSeconds:j",
    f"{VALUES}HiveIntervalYearMonth": "totalMonths:i",
}
_FUNCTIONS = {
    "Wooo": "Abs",
    "oo": "AddMonths LastDay NextDay OPFalse OPNotFalse OPNotTrue OPTrue",
    "i": "BRound Round",
    "oooo": "Between",
    "": (
        "Case Coalesce Concat Date FormatNumber FromUtcTimestamp Greatest If Least Lower NamedStruct Nullif "
        "Struct ToDate ToIntervalDayTime ToIntervalYearMonth ToUnixTimeStamp ToUtcTimestamp Upper When"
    ),
    "o": (
        "Cbrt CharacterLength ConcatWS Factorial Hash InitCap Instr Length OPAnd OPNot OPNotNull OPNull OPOr "
        "OctetLength ToChar ToDecimal ToVarchar UnixTimeStamp"
    ),
    "WoSS": "Ceil Floor",
    "oi": "DateAdd DateSub",
    "oz": "In LikeAll LikeAny",
    "oS": "LTrim Power RTrim Trim",
    "oozo": "MonthsBetween",
    "SS": "OPDTIMinus OPDTIPlus",
    "oESSo": (
        "OPEqual OPEqualNS OPEqualOrGreaterThan OPEqualOrLessThan OPGreaterThan OPLessThan OPNotEqual OPNotEqualNS"
    ),
    "zozSS": "OPMinus OPPlus",
    "oWooooooSSo": "OPNegative OPPositive",
    "z": "Timestamp",
    "ooooo": "Translate",
    "ozzoi": "Trunc",
}
_OLD_FUNCTIONS = {
    "oo": "DateDiff",
    "": "Nvl",
    "zozWooooSSo": "OPDivide OPMod OPMultiply OPNumericMinus OPNumericPlus PosMod",
    "o": "RegExp",
}
_NEW_FUNCTIONS = {
    "": "CastFormat FromUnixTime ToString",
    "o": "DateDiff DateFormat Quarter",
    "zozWooooSSoo": "OPDivide OPMod OPMultiply OPNumericMinus OPNumericPlus OPScaleUpDecimal64 PosMod",
    "oz": "RegExp",
}
# Classes of functions' private fields, such as buffers for their results.
_OTHERS = {
    "z": "io.BooleanWritable",
    "b": "hive.serde2.io.ByteWritable",
    "s": "hive.serde2.io.ShortWritable",
    "i": "io.IntWritable hive.serde2.io.DateWritable",
    "j": "io.LongWritable",
    "f": "io.FloatWritable",
    "d": "io.DoubleWritable hive.serde2.io.DoubleWritable",
    "jjjiiiiBBz": "hive.serde2.io.HiveDecimalWritable",
    "o": (
        "hive.serde2.io.HiveIntervalDayTimeWritable hive.serde2.io.HiveIntervalYearMonthWritable "
        "hive.serde2.io.DateWritableV2"
    ),
    "oo": " ".join(f"hive.ql.udf.UDF{part}" for part in ("Year", "Month", "DayOfMonth", "Hour", "Minute", "Second")),
}
_OLD_OTHERS = {"o": "hive.serde2.io.HiveCharWritable hive.serde2.io.HiveVarcharWritable", "Bi": "io.Text"}
_NEW_OTHERS = {
    "io": "hive.serde2.io.HiveCharWritable hive.serde2.io.HiveVarcharWritable",
    "Bii": "io.Text",
}
_INSPECTOR_TYPES = (
    "Binary Boolean Byte Date Double Float HiveChar HiveDecimal HiveIntervalDayTime HiveIntervalYearMonth HiveVarchar "
    "Int Long Short String Timestamp TimestampLocalTZ Void"
)


def _named() -> dict[str, Layout]:
    layouts: dict[str, Layout] = {}
    for name, fields in _NAMED.items():
        pairs = [field.split(":") for field in fields.split()]
        layouts[name] = Layout(tuple(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs))
    return layouts


def _plain(prefix: str, groups: dict[str, str]) -> dict[str, Layout]:
    return {
        f"{prefix}{name}": Layout(("",) * len(kinds), kinds)
        for kinds, names in groups.items()
        for name in names.split()
    }


def _inspectors() -> dict[str, Layout]:
    """Returns the layouts of object inspectors. Each has a type; constant inspectors also have the constant."""
    prefix = f"{HADOOP}hive.serde2.objectinspector.primitive."
    layouts: dict[str, Layout] = {}
    for kind in _INSPECTOR_TYPES.split():
        for side in ("Java", "Writable"):
            layouts[f"{prefix}{side}{kind}ObjectInspector"] = Layout(("",), "o")
        constant = "oW" if kind == "HiveDecimal" else "oo"
        layouts[f"{prefix}WritableConstant{kind}ObjectInspector"] = Layout(("",) * 2, constant)
    return layouts


_ALL = _named() | _plain(FUNCTIONS, _FUNCTIONS) | _plain(HADOOP, _OTHERS) | _inspectors()
LAYOUTS = {
    3: _ALL | _plain(FUNCTIONS, _OLD_FUNCTIONS) | _plain(HADOOP, _OLD_OTHERS),
    5: _ALL | _plain(FUNCTIONS, _NEW_FUNCTIONS) | _plain(HADOOP, _NEW_OTHERS),
}
