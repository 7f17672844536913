"""Hold for each wire format a body that says all it can, and one with fields of tomorrow, as they read and are written.

Written by hand from the types of openai 3.57.0, anthropic 2.14.0 and google-genai 3.6.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit.adapters import anthropic, gemini, openai, openai_responses

Body = dict[str, Any]

FORMATS: Mapping[str, Any] = {
    "openai": openai,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
}

PNG = "iVBORw0KGgo="
SCHEMA = {"type": "object", "title": "Report", "properties": {"t": {"type": "number"}}, "required": ["t"]}

_POINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_CHAT: Body = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief.", "name": "ops"},
        {"role": "system", "content": [{"type": "text", "text": "Be kind.", **_POINT}]},
        {"role": "user", "content": "Hi", "name": "Ada"},
        {"role": "assistant", "content": "Hello.", "name": "bot"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See:", **_POINT},
                {"type": "image_url", "image_url": {"url": "https://h/cat.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}},
                {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}},
                {"type": "file", "file": {"file_id": "file-1", "filename": "b.txt"}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "No."}, {"type": "refusal", "refusal": "I will not."}],
        },
        {"role": "user", "content": "And the weather?"},
        {
            "role": "assistant",
            "content": "I look.",
            "audio": {"id": "audio_1"},
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
                {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls"}},
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [{"type": "text", "text": "3"}, {"type": "text", "text": " C"}],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "a.txt"},
        {"role": "assistant", "function_call": {"name": "weather", "arguments": '{"city":"Rome"}'}},
        {"role": "function", "name": "weather", "content": "20"},
        {"role": "assistant", "content": "3 and 20."},
    ],
    "temperature": 0,
    "top_p": 0.5,
    "max_completion_tokens": 9,
    "stop": ["END"],
    "frequency_penalty": 0.5,
    "presence_penalty": -0.5,
    "seed": 7,
    "tools": [
        {
            "type": "function",
            "function": {"name": "weather", "description": "Tell.", "parameters": SCHEMA, "strict": True},
        },
        {"type": "custom", "custom": {"name": "sh"}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "r", "schema": SCHEMA, "strict": False, "description": "A report."},
    },
    "reasoning_effort": "low",
    "logit_bias": {"50256": -100},
}
_CHAT_TOMORROW: Body = {
    "messages": [
        {"role": "system", "content": "S", "x": 1},
        {"role": "user", "content": [{"type": "text", "text": "q", "x": 1}, {"type": "new", "x": None}], "x": 1},
        {
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "r", "x": 1}],
            "audio": {"id": "a", "x": 1},
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}", "x": 1}, "y": {"z": 1}}
            ],
            "x": 1,
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1", "x": 1},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "x": 1}, "y": 1}],
    "x": {"y": [1]},
}

_CITED = {"type": "url_citation", "url": "https://h/", "title": "H", "start_index": 0, "end_index": 2}
_ITEMS: Body = {
    "model": "m",
    "temperature": 0,
    "top_p": 0.5,
    "max_output_tokens": 9,
    "instructions": "Be brief.",
    "input": [
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "See:", **_POINT},
                {"type": "input_image", "detail": "low", "image_url": "https://h/cat.png"},
                {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
                {"type": "input_image", "detail": "auto", "file_id": "file-1"},
                {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
                {"type": "input_file", "file_url": "https://h/a.pdf", "filename": "b.pdf"},
                {"type": "input_file", "file_id": "file-2", "filename": "c.txt"},
            ],
        },
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "id": "rs_1",
            "encrypted_content": "ZW5j",
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "id": "msg_1",
            "content": [
                {"type": "output_text", "text": "See there.", "annotations": [_CITED]},
                {"type": "refusal", "refusal": "I will not."},
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}', "id": "fc_1"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_text", "text": "map:"},
                {"type": "input_image", "detail": "auto", "file_id": "file-1"},
            ],
        },
        {"role": "assistant", "content": "Cold."},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {"role": "user", "content": "Thanks."},
    ],
    "tools": [
        {"type": "function", "name": "weather", "description": "Tell.", "parameters": SCHEMA, "strict": True},
        {"type": "web_search"},
    ],
    "tool_choice": {"type": "function", "name": "weather"},
    "text": {"format": {"type": "json_schema", "name": "Report", "strict": True, "schema": SCHEMA}, "verbosity": "low"},
    "reasoning": {"effort": "low"},
    "include": ["reasoning.encrypted_content"],
}
_ITEMS_TOMORROW: Body = {
    "input": [
        {"role": "system", "content": "S", "x": 1},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "q", "x": 1},
                {"type": "input_new", "x": None},
                {"type": "input_file", "file_id": "f", "x": 1},
            ],
            "x": 1,
        },
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}], "id": "r", "x": 1},
        {"type": "new_call", "x": None},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "id": "m",
            "content": [{"type": "refusal", "refusal": "r", "x": 1}, {"type": "output_new"}],
            "x": 1,
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "x": 1},
        {"type": "function_call_output", "call_id": "c1", "output": "1", "x": 1},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": False, "x": 1}],
    "x": {"y": [1]},
}

_MARK = {"cache_control": {"type": "ephemeral"}}
_BLOCKS: Body = {
    "model": "m",
    "temperature": 0,
    "top_p": 0.5,
    "top_k": 3,
    "max_tokens": 9,
    "stop_sequences": ["END"],
    "system": [{"type": "text", "text": "Be brief.", **_MARK}, {"type": "text", "text": "Be kind."}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "See:", **_MARK},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://h/cat.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
                    "title": "a.pdf",
                    "context": "c",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "url", "url": "https://h/a.pdf"}, "title": "b.pdf"},
                {"type": "document", "source": {"type": "file", "file_id": "file_2"}, "title": "c.txt"},
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                    "title": "d.txt",
                },
                {"type": "document", "source": {"type": "content", "content": "x"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
                {
                    "type": "text",
                    "text": "See there.",
                    "citations": [
                        {
                            "type": "char_location",
                            "cited_text": "x",
                            "document_index": 0,
                            "document_title": None,
                            "start_char_index": 0,
                            "end_char_index": 1,
                        }
                    ],
                },
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}, **_MARK},
                {"type": "tool_use", "id": "c2", "name": "weather", "input": {}, "caller": {"type": "direct"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [
                        {"type": "text", "text": "map:"},
                        {"type": "image", "source": {"type": "url", "url": "https://h/map.png"}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True, **_MARK},
                {"type": "text", "text": "And?"},
            ],
        },
        {"role": "assistant", "content": "Cold."},
    ],
    "tools": [
        {"name": "weather", "description": "Tell.", "input_schema": SCHEMA, "strict": True},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"},
    "thinking": {"type": "adaptive"},
}
_BLOCKS_TOMORROW: Body = {
    "max_tokens": 9,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "q", "x": 1}, {"type": "new", "x": None}], "x": 1},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s", "x": 1},
                {"type": "redacted_thinking", "data": "d", "x": 1},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": [1.5, None]}, "x": 1},
            ],
            "x": 1,
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "1", "is_error": "maybe", "x": 1}],
            "x": 1,
        },
        {"role": "user", "content": [{"type": "text", "text": "and?"}, {"type": "text", "text": "so?"}], "x": 1},
        {"role": "system", "content": "S", "x": 1},
        {"role": "assistant", "content": "a", "x": 1},
    ],
    "tools": [{"name": "f", "input_schema": SCHEMA, "x": 1}],
    "x": {"y": [1]},
}

_SIGNED = {"thoughtSignature": "c2ln"}
_CONTENTS: Body = {
    "model": "m",
    "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "See:"},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"inlineData": {"mimeType": "audio/wav", "data": "UklG"}},
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
                {
                    "fileData": {"fileUri": "gs://bucket/film.mp4", "mimeType": "video/mp4"},
                    "videoMetadata": {"fps": 2.0},
                },
                {"fileData": {"fileUri": "files/abc", "mimeType": "image/png"}},
                {"fileData": {"fileUri": "https://www.youtube.com/watch"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True, **_SIGNED},
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
                {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, **_SIGNED},
                {"functionCall": {"name": "weather", "args": {}}},
                {"functionCall": {"id": "c3", "name": "weather", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "c1",
                        "name": "weather",
                        "response": {"output": "map:"},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "map.png"}}],
                    }
                },
                {"functionResponse": {"name": "weather", "response": {"t": 3.5}, "scheduling": "SILENT"}},
                {"functionResponse": {"id": "c3", "name": "weather", "response": {"error": "no"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}]},
        {"role": "model", "parts": [{"text": "Cold."}]},
    ],
    "generationConfig": {
        "temperature": 0,
        "topP": 0.5,
        "topK": 3,
        "maxOutputTokens": 9,
        "stopSequences": ["END"],
        "frequencyPenalty": 0.5,
        "presencePenalty": -0.5,
        "seed": 7,
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
        "thinkingConfig": {"thinkingBudget": 9},
    },
    "tools": [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Tell.", "parametersJsonSchema": SCHEMA, "behavior": "BLOCKING"}
            ]
        },
        {"googleSearch": {}},
    ],
    "toolConfig": {
        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]},
        "retrievalConfig": {"languageCode": "nb"},
    },
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
}
_CONTENTS_TOMORROW: Body = {
    "systemInstruction": {"parts": [{"text": "S", "x": 1}], "x": 1},
    "contents": [
        {"role": "user", "parts": [{"text": "q", "x": 1}, {"new": {"x": None}}], "x": 1},
        {
            "role": "model",
            "parts": [
                {"toolCall": {"x": 1}},
                {"text": "t", "thought": "maybe"},
                {"fileData": {"fileUri": "files/a", "x": 1}, "x": 1},
                {"functionCall": {"id": "c1", "name": "f", "args": {"a": [1.5, None]}, "x": 1}, "x": 1},
            ],
            "x": 1,
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "1"}, "x": 1}, "x": 1},
            ],
            "x": 1,
        },
        {"role": "user", "parts": [{"toolResponse": {"x": 1}}, {"text": "and?"}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "x": 1}]}, {"x": 1}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "x": 1}, "x": 1},
    "generationConfig": {"x": 1},
    "x": {"y": [1]},
}

RICH: Mapping[str, Body] = {
    "openai": _CHAT,
    "openai_responses": _ITEMS,
    "anthropic": _BLOCKS,
    "gemini": _CONTENTS,
}
"""All that a format can say."""

TOMORROW: Mapping[str, Body] = {
    "openai": _CHAT_TOMORROW,
    "openai_responses": _ITEMS_TOMORROW,
    "anthropic": _BLOCKS_TOMORROW,
    "gemini": _CONTENTS_TOMORROW,
}
"""Fields and parts that no SDK knows yet, wherever they may stand."""
