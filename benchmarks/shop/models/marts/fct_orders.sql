select o.*, c.segment, c.nation, c.region
from {{ ref('int_orders') }} o join {{ ref('int_customers') }} c using (customer_id)
