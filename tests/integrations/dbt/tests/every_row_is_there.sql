SELECT * FROM (
  SELECT 'orders' AS model, count(*) AS found, 5 AS wanted FROM {{ ref('orders') }}
  UNION ALL SELECT 'ann', count(*), 3 FROM {{ ref('orders') }} WHERE customer = 'ann'
  UNION ALL SELECT 'complete_days', count(*), 3 FROM {{ ref('complete_days') }} WHERE ds = '2026-01-01'
) WHERE found <> wanted
