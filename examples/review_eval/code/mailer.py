"""Mail to customers."""

import logging
import smtplib
from email.message import EmailMessage

log = logging.getLogger(__name__)

HOST = "mail.example.org"
USER = "shop"
PASSWORD = "tulip-harbour-27"


def send_receipt(address, text):
    message = EmailMessage()
    message["To"], message["From"], message["Subject"] = address, f"{USER}@example.org", "Your receipt"
    message.set_content(text)
    with smtplib.SMTP_SSL(HOST, timeout=30) as server:
        server.login(USER, PASSWORD)
        server.send_message(message)


def send_reset_link(address, token):
    link = f"https://example.org/reset?token={token}"
    log.info("sending %s to %s", link, address)
    send_receipt(address, f"Set a new password: {link}")
