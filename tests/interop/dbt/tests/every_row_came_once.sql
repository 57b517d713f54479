SELECT * FROM (
  SELECT 'days' AS model, count(*) AS found, 4 AS wanted FROM {{ ref('days') }}
  UNION ALL SELECT 'clicks', count(*), 4 FROM {{ ref('clicks') }}
  UNION ALL SELECT 'ann', count(*), 2 FROM {{ ref('clicks') }} WHERE customer = 'ann'
  UNION ALL SELECT 'totals', count(*), 3 FROM {{ ref('totals') }}
  UNION ALL SELECT 'large', count(*), 3 FROM {{ ref('large') }}
) WHERE found <> wanted
