with source as (

    select * from {{ source('raw', 'customers') }}

),

renamed as (

    select
        id as customer_id,
        initcap(trim(name)) as customer_name,
        lower(email) as email,
        upper(country) as country_code,
        cast(created_at as date) as signed_up_on,
        updated_at
    from source

)

select * from renamed
