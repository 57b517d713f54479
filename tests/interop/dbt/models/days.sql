{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['ds'], file_format='parquet') }}
SELECT id, amount, string(ds) AS ds FROM {{ ref('orders') }}
{% if is_incremental() %} WHERE ds = DATE '2026-01-02' {% endif %}
