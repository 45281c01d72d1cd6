import {
  alter,
  asked,
  chat,
  cutHead,
  each,
  edit,
  editStream,
  fault,
  isLong,
  isTwo,
  put,
  refused,
  role,
  streams,
  textEvents,
  textParts,
  whole,
  without,
} from './breaking.ts'
import type { Fault } from './faulty-server.ts'

export const chatFaults: readonly Fault[] = [
  fault(
    'chat-form',
    'replies have no id',
    edit(whole, (json) => ({ ...json, id: undefined })),
  ),
  fault('chat-form', 'replies have no finish reason', edit(whole, put('choices.0.finish_reason', undefined))),
  fault(
    'chat-form',
    'replies have no usage',
    edit(whole, (json) => ({ ...json, usage: undefined })),
  ),
  fault('chat-text', 'the text is lost', edit(whole, put('choices.0.message.content', ''))),
  fault('chat-content-type', 'JSON is sent as text', { answers: (got) => ({ ...got, type: 'text/plain' }) }),
  fault(
    'chat-ids',
    'all replies have one id',
    edit(whole, (json) => ({ ...json, id: 'chatcmpl-1' })),
  ),
  fault(
    'chat-parts',
    'text parts are dropped',
    textParts(chat, () => ''),
  ),
  fault(
    'chat-all-parts',
    'only the first part is read',
    textParts(chat, (parts) => parts.slice(0, 1)),
  ),
  fault('chat-system', 'the system message is dropped', role('system')),
  fault('chat-developer', 'the developer message is dropped', role('developer')),
  fault(
    'chat-developer',
    'the developer role is refused',
    refused(({ text }) => text.includes('"developer"')),
  ),
  fault('chat-tool-results', 'results of tools are dropped', role('tool')),
  fault(
    'chat-history',
    'only the last message is read',
    asked(chat, (body) => ({ ...body, messages: body.messages?.slice?.(-1) ?? body.messages })),
  ),
  fault(
    'chat-known-fields',
    'known fields are refused',
    refused(({ body }) => body.metadata !== undefined),
  ),
  fault('chat-n', 'n is ignored', without(whole, 'n')),
  fault('chat-n-usage', 'the usage counts one of two choices', edit(isTwo, put('usage.completion_tokens', 16))),
  fault(
    'chat-cached',
    'more tokens are cached than there are',
    edit(whole, put('usage.prompt_tokens_details.cached_tokens', 999)),
  ),
  fault(
    'limits-max-tokens',
    'max_tokens is ignored',
    asked(chat, (body) => (body.max_tokens === 5 ? { ...body, max_tokens: 16 } : body)),
  ),
  fault(
    'limits-max-completion-tokens',
    'max_completion_tokens is ignored',
    asked(chat, (body) => ({ ...body, max_completion_tokens: undefined, max_tokens: body.max_tokens ?? 16 })),
  ),
  fault('limits-max-tokens', 'truncated replies say stop', edit(whole, put('choices.0.finish_reason', 'stop'))),
  fault('limits-stop', 'stop is ignored', without(chat, 'stop')),
  fault(
    'limits-stop',
    'the stop sequence is part of the text',
    edit(
      ({ body }) => typeof body.stop === 'string',
      alter('choices.0.message.content', (text, { body }) => text + body.stop),
    ),
  ),
  fault(
    'limits-stop',
    'the reason of a stop is length',
    edit(({ body }) => body.stop !== undefined, put('choices.0.finish_reason', 'length')),
  ),
  fault(
    'limits-stop-list',
    'only the first stop sequence counts',
    asked(whole, (body) => ({ ...body, ...(Array.isArray(body.stop) && { stop: body.stop.slice(0, 1) }) })),
  ),
  fault('limits-stop-streamed', 'streams do not stop', without(streams, 'stop')),
  fault(
    'limits-overflow',
    'the head of a long prompt is dropped',
    asked((sent) => chat(sent) && isLong(sent), cutHead),
  ),
  fault('limits-overflow', 'a long prompt makes the server fail', {
    answers: (got, sent) => (isLong(sent) && got.status === 400 ? { ...got, status: 500 } : got),
  }),
  fault(
    'limits-overflow-error',
    'the refusal of a long prompt says nothing',
    refused((sent) => chat(sent) && isLong(sent)),
  ),
  fault(
    'limits-head',
    'the head of a long prompt is dropped, and the count hides it',
    asked((sent) => chat(sent) && isLong(sent), cutHead),
    edit(
      (sent) => chat(sent) && isLong(sent),
      alter('usage.prompt_tokens', (_, sent) => sent.text.length),
    ),
  ),
  fault('limits-large-limit', 'a large limit makes the server fail', {
    answers: (got, { body }) => (body.max_tokens === 100_000_000 ? { ...got, status: 500 } : got),
  }),
  fault('streams-content-type', 'streams are application/json', {
    answers: (got) => ({ ...got, type: got.type.replace('text/event-stream', 'application/json') }),
  }),
  fault(
    'streams-done',
    'there is no [DONE]',
    editStream(streams, (events) => events.slice(0, -1)),
  ),
  fault(
    'streams-done',
    'there are two [DONE]',
    editStream(streams, (events) => [...events, { data: '[DONE]' }]),
  ),
  fault(
    'streams-usage',
    'streams have no usage',
    editStream(streams, (events) => events.filter(({ data }) => !data.usage)),
  ),
  fault(
    'streams-usage-once',
    'each chunk has usage',
    each(streams, put('usage', { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 })),
  ),
  fault(
    'streams-id',
    'each chunk has another id',
    each(
      streams,
      alter('id', (_, __, index) => `chatcmpl-${index}`),
    ),
  ),
  fault(
    'streams-role',
    'deltas have no role',
    each(streams, (data) => delete data.choices?.[0]?.delta.role),
  ),
  fault('streams-finish', 'streams have no finish reason', each(streams, put('choices.0.finish_reason', null))),
  fault(
    'streams-finish',
    'text follows the finish reason',
    editStream(streams, (events) => {
      const index = textEvents(events).at(-1) ?? 0
      return [...events.slice(0, index), ...events.slice(index + 1, -2), ...events.slice(index, index + 1), ...events.slice(-2)]
    }),
  ),
  fault(
    'streams-same-text',
    'a chunk is lost',
    editStream(streams, (events) => events.filter((_, index) => index !== textEvents(events)[3])),
  ),
  fault(
    'streams-same-text',
    'a chunk is sent twice',
    editStream(streams, (events) =>
      events.flatMap((event, index) => (index === textEvents(events)[3] ? [event, event] : [event])),
    ),
  ),
  fault(
    'streams-json',
    'a chunk is truncated JSON',
    editStream(streams, (events) =>
      events.map((event, index) => (index === 2 ? { data: JSON.stringify(event.data).slice(0, -9) } : event)),
    ),
  ),
  fault('streams-framing', 'lines have no field names', {
    answers: (got) => ({ ...got, text: got.type.includes('event-stream') ? `processing\n\n${got.text}` : got.text }),
  }),
  fault('streams-live', 'streams are sent when they are complete', { delayMs: 400 }),
  fault(
    'streams-characters',
    'characters are broken between chunks',
    each(
      streams,
      alter('choices.0.delta.content', (text) => text.replace(/[^\x20-\x7e]/gu, '\ufffd')),
    ),
  ),
  fault(
    'streams-same-finish',
    'streams say stop when they are truncated',
    each(
      streams,
      alter('choices.0.finish_reason', (reason) => reason && 'stop'),
    ),
  ),
  fault('streams-choices', 'all choices of a stream have index 0', each(streams, put('choices.0.index', 0))),
  fault('streams-form', 'chunks are called chat.completion', each(streams, put('object', 'chat.completion'))),
  fault(
    'streams-done',
    'streams end in the middle',
    editStream(streams, (events) => events.slice(0, 4)),
  ),
]
