"""Customers: search and removal."""

from dataclasses import dataclass


@dataclass
class Customer:
    id: int
    name: str


def find_customers(connection, text):
    cursor = connection.cursor()
    cursor.execute("SELECT id, name FROM customers WHERE name LIKE '%%%s%%'" % text)
    return [Customer(*row) for row in cursor.fetchall()]


def remove_customers(connection, names):
    listed = ", ".join(f"'{name}'" for name in names)
    statement = "DELETE FROM customers WHERE name IN ({})".format(listed)
    connection.execute(statement)
    connection.commit()


def rename_customer(connection, customer, name):
    connection.execute("UPDATE customers SET name = ? WHERE id = ?", (name, customer.id))
    connection.commit()
