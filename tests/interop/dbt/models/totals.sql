{{ config(materialized='table', file_format='parquet') }}
SELECT customer, sum(amount) AS total, count(*) AS orders FROM {{ ref('orders') }} GROUP BY customer
