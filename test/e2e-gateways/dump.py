"""Writes every standard_logging_object to the file in GATEWAY_DUMP, to compare with what Fermata made of it."""
import json
import os

from litellm.integrations.custom_logger import CustomLogger


class Dump(CustomLogger):
    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        with open(os.environ["GATEWAY_DUMP"], "a") as f:
            f.write(json.dumps(kwargs.get("standard_logging_object"), default=str) + "\n")

    async_log_failure_event = async_log_success_event


h = Dump()
