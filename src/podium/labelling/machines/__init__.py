"""Machine assessors: a model behind an HTTP endpoint judges, within caps, and is held to account."""

from podium.labelling.machines.answer_cache import AnswerCache
from podium.labelling.machines.answer_schema import AnswerSchema
from podium.labelling.machines.assessment import AssessmentSummary, MachineAssessor
from podium.labelling.machines.call_budget import (
    BudgetSpentError,
    CallBudget,
    CallCaps,
    Spending,
    TokenPrices,
)
from podium.labelling.machines.call_pace import CallPace
from podium.labelling.machines.campaign_price import CampaignPrice, price_campaign
from podium.labelling.machines.chat_completions import CompletionSettings
from podium.labelling.machines.endpoint import ApiKey, Endpoint, read_key
from podium.labelling.machines.enlistment import TaskPlan, enlist, machine_record, plan_tasks
from podium.labelling.machines.machine_client import CallRules, MachineAnswer, MachineClient
from podium.labelling.machines.prompt_templates import (
    Prompt,
    PromptTemplate,
    builtin_template,
    read_template,
)
from podium.labelling.machines.question_prompts import QuestionPrompts
from podium.labelling.machines.reranking import (
    MachineReranker,
    MachineVoter,
    RerankedList,
    RerankSettings,
)
from podium.labelling.machines.session_judge import AssessmentSettings, SessionJudge
from podium.labelling.machines.simulated_endpoint import SimulatedEndpoint, SimulatedModel

__all__ = [
    "AnswerCache",
    "AnswerSchema",
    "ApiKey",
    "AssessmentSettings",
    "AssessmentSummary",
    "BudgetSpentError",
    "CallBudget",
    "CallCaps",
    "CallPace",
    "CallRules",
    "CampaignPrice",
    "CompletionSettings",
    "Endpoint",
    "MachineAnswer",
    "MachineAssessor",
    "MachineClient",
    "MachineReranker",
    "MachineVoter",
    "Prompt",
    "PromptTemplate",
    "QuestionPrompts",
    "RerankSettings",
    "RerankedList",
    "SessionJudge",
    "SimulatedEndpoint",
    "SimulatedModel",
    "Spending",
    "TaskPlan",
    "TokenPrices",
    "builtin_template",
    "enlist",
    "machine_record",
    "plan_tasks",
    "price_campaign",
    "read_key",
    "read_template",
]
