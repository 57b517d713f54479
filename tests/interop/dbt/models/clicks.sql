{{ config(materialized='incremental', incremental_strategy='append') }}
SELECT int(id) AS id, customer, string(ds) AS ds FROM {{ ref('orders') }}
WHERE id > (SELECT coalesce(max(id), 0) FROM {{ this }})
