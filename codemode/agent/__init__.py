"""The loop that lets a model use tools and programs: providers, turns and steps, all of it in the session."""

from codemode.agent.anthropic_messages import AnthropicMessages
from codemode.agent.history import History
from codemode.agent.loop import Agent
from codemode.agent.openai_responses import OpenAIResponses
from codemode.agent.provider import Provider, Retry
from codemode.agent.turn import TurnResult, tokens_of
from codemode.agent.watcher import Watcher

__all__ = [
    "Agent",
    "AnthropicMessages",
    "History",
    "OpenAIResponses",
    "Provider",
    "Retry",
    "TurnResult",
    "Watcher",
    "tokens_of",
]
