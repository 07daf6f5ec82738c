select * from {{ ref('int_lines') }} where return_flag = 'R'
