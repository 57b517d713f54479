"""What HiveServer2 asks for in the background: plans and schedules, of which there are none here."""

from __future__ import annotations

from thrift_idl.gen.hive_metastore.ttypes import (
    ScheduledQueryPollRequest,
    ScheduledQueryPollResponse,
    WMGetActiveResourcePlanRequest,
    WMGetActiveResourcePlanResponse,
)


class HiveServerHandlers:
    """Answers with nothing, as a metastore does in which nothing was planned: HiveServer2 does not go on if refused."""

    def get_active_resource_plan(self, _: WMGetActiveResourcePlanRequest) -> WMGetActiveResourcePlanResponse:
        return WMGetActiveResourcePlanResponse()

    def scheduled_query_poll(self, _: ScheduledQueryPollRequest) -> ScheduledQueryPollResponse:
        return ScheduledQueryPollResponse()
