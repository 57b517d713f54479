{{ config(materialized='view') }}
SELECT id, customer, amount FROM {{ ref('orders') }} WHERE amount > 2
