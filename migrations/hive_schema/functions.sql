-- Functions that decode values of Thrift's binary protocol, for objects that are stored only in that form
-- (column statistics, functions, constraints, types), and ids for rows whose tables have none.

CREATE FUNCTION hive.name_id(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || left(md5(name), 15))::bit(60)::bigint $$;
COMMENT ON FUNCTION hive.name_id IS 'The id of an object that is identified by its name: 60 bits of its MD5.';

CREATE FUNCTION hive.int32_at(data bytea, at int) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(substring(data FROM at + 1 FOR 4), 'hex'))::bit(32)::int $$;

CREATE FUNCTION hive.int64_at(data bytea, at int) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT ('x' || encode(substring(data FROM at + 1 FOR 8), 'hex'))::bit(64)::bigint $$;

CREATE FUNCTION hive.double_of(bits bigint) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    exponent int := (bits >> 52) & 2047;
    fraction bigint := bits & 4503599627370495;
    magnitude float8;
BEGIN
    IF exponent = 2047 THEN
        magnitude := CASE WHEN fraction = 0 THEN 'Infinity' ELSE 'NaN' END;
    ELSIF exponent = 0 THEN
        magnitude := fraction * power(2::float8, -1074);
    ELSE
        magnitude := (fraction + 4503599627370496) * power(2::float8, exponent - 1075);
    END IF;
    RETURN CASE WHEN bits < 0 THEN -magnitude ELSE magnitude END;
END $$;
COMMENT ON FUNCTION hive.double_of IS 'The number with this representation in IEEE 754, binary64.';

CREATE FUNCTION hive.thrift_value(data bytea, kind int, at int, OUT value jsonb, OUT after int)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    size int;
    inner_kind int;
    inner_value record;
    field int;
BEGIN
    CASE kind
    WHEN 2 THEN
        value := to_jsonb(get_byte(data, at) = 1);
        after := at + 1;
    WHEN 3 THEN
        value := to_jsonb(get_byte(data, at));
        after := at + 1;
    WHEN 4 THEN
        value := to_jsonb(hive.double_of(hive.int64_at(data, at))::text);
        after := at + 8;
    WHEN 6 THEN
        field := get_byte(data, at) * 256 + get_byte(data, at + 1);
        value := to_jsonb(CASE WHEN field < 32768 THEN field ELSE field - 65536 END);
        after := at + 2;
    WHEN 8 THEN
        value := to_jsonb(hive.int32_at(data, at));
        after := at + 4;
    WHEN 10 THEN
        value := to_jsonb(hive.int64_at(data, at));
        after := at + 8;
    WHEN 11 THEN
        size := hive.int32_at(data, at);
        value := to_jsonb(encode(substring(data FROM at + 5 FOR size), 'hex'));
        after := at + 4 + size;
    WHEN 12 THEN
        value := '{}';
        after := at;
        LOOP
            EXIT WHEN after >= octet_length(data);
            inner_kind := get_byte(data, after);
            after := after + 1;
            EXIT WHEN inner_kind = 0;
            field := get_byte(data, after) * 256 + get_byte(data, after + 1);
            SELECT * INTO inner_value FROM hive.thrift_value(data, inner_kind, after + 2);
            value := value || jsonb_build_object(field, inner_value.value);
            after := inner_value.after;
        END LOOP;
    WHEN 13 THEN
        value := '[]';
        size := hive.int32_at(data, at + 2);
        after := at + 6;
        FOR position IN 0 .. 2 * size - 1 LOOP
            SELECT * INTO inner_value FROM hive.thrift_value(data, get_byte(data, at + position % 2), after);
            value := value || jsonb_build_array(inner_value.value);
            after := inner_value.after;
        END LOOP;
    WHEN 14, 15 THEN
        value := '[]';
        inner_kind := get_byte(data, at);
        size := hive.int32_at(data, at + 1);
        after := at + 5;
        FOR position IN 1 .. size LOOP
            SELECT * INTO inner_value FROM hive.thrift_value(data, inner_kind, after);
            value := value || jsonb_build_array(inner_value.value);
            after := inner_value.after;
        END LOOP;
    END CASE;
END $$;
COMMENT ON FUNCTION hive.thrift_value IS 'Decodes the value of this Thrift type at a position (from 0); `after` is the position behind it. A struct '
    'is an object by field number, a map an array of keys and values in turn, a double a text, a text or binary the hexadecimal digits of its bytes.';

CREATE FUNCTION hive.thrift_struct(fields bytea) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT value FROM hive.thrift_value(fields || ''::bytea, 12, 0) $$;  -- decompressed once

CREATE FUNCTION hive.thrift_field(fields bytea, wanted int) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    at int := 0;
    kind int;
    field int;
BEGIN
    fields := fields || ''::bytea;  -- decompressed once, not by each get_byte
    WHILE at < octet_length(fields) LOOP
        kind := get_byte(fields, at);
        EXIT WHEN kind = 0;
        field := get_byte(fields, at + 1) * 256 + get_byte(fields, at + 2);
        EXIT WHEN field > wanted;
        at := at + 3;
        IF field = wanted THEN
            RETURN (SELECT value FROM hive.thrift_value(fields, kind, at));
        END IF;
        IF kind = 11 THEN
            at := at + 4 + hive.int32_at(fields, at);
        ELSIF kind = 8 THEN
            at := at + 4;
        ELSE
            SELECT after INTO at FROM hive.thrift_value(fields, kind, at);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION hive.thrift_field IS 'Decodes one field of a struct whose fields are in ascending order, or returns NULL.';

CREATE FUNCTION hive.text_of(digits jsonb) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT convert_from(decode(digits #>> '{}', 'hex'), 'UTF8') $$;

CREATE FUNCTION hive.decimal_of(value jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    bytes bytea := decode(value ->> '1', 'hex');
    scale int := (value ->> '3')::int;
    number numeric := 0;
BEGIN
    IF octet_length(bytes) > 0 AND get_byte(bytes, 0) > 127 THEN
        number := -1;  -- all bits above the first byte
    END IF;
    FOR position IN 0 .. octet_length(bytes) - 1 LOOP
        number := number * 256 + get_byte(bytes, position);
    END LOOP;
    RETURN (number || 'e' || -scale)::numeric;  -- exact, which a division is not
END $$;
COMMENT ON FUNCTION hive.decimal_of IS 'The text of a Decimal of hive_metastore.thrift: an unscaled big-endian integer and its scale.';

CREATE FUNCTION hive.principal_type(number int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE number WHEN 1 THEN 'USER' WHEN 2 THEN 'ROLE' WHEN 3 THEN 'GROUP' END $$;
