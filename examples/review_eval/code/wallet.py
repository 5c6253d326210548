"""Balances, and statements on disk. Several processes serve the same database."""

import os
import tempfile


def withdraw(connection, account, amount):
    (balance,) = connection.execute("SELECT balance FROM accounts WHERE id = ?", (account,)).fetchone()
    if balance < amount:
        raise ValueError(f"account {account}: the balance {balance} is less than {amount}")
    connection.execute("UPDATE accounts SET balance = ? WHERE id = ?", (balance - amount, account))
    connection.commit()


def write_statement(folder, lines):
    name = tempfile.mktemp(suffix=".txt", dir=folder)
    with open(name, "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.chmod(name, 0o600)
    return name


def balance_of(connection, account):
    row = connection.execute("SELECT balance FROM accounts WHERE id = ?", (account,)).fetchone()
    return None if row is None else row[0]
