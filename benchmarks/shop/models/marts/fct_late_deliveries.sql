select supplier_id, ship_mode, count(*) as lines, count_if(received_on > promised_on) as late
from {{ ref('int_lines') }} group by supplier_id, ship_mode
