import {
  asked,
  at,
  completions,
  each,
  edit,
  editStream,
  embeddings,
  fault,
  type Json,
  messages,
  ollama,
  put,
  refused,
  responses,
  without,
} from './breaking.ts'
import type { Fault } from './faulty-server.ts'

export const protocolFaults: readonly Fault[] = [
  fault(
    'responses-form',
    'responses have no output',
    edit(responses, (json) => ({ ...json, output: undefined })),
  ),
  fault(
    'responses-sequence',
    'events have no number',
    each(responses, (data) => delete data.sequence_number),
  ),
  fault(
    'responses-event-names',
    'events have no name',
    editStream(responses, (events) => events.map(({ data }) => ({ data }))),
  ),
  fault(
    'responses-deltas',
    'a delta is lost',
    editStream(responses, (events) => {
      const [first] = events.flatMap(({ data }, index) => (data.type === 'response.output_text.delta' ? [index] : []))
      return events.filter((_, index) => index !== first)
    }),
  ),
  fault(
    'responses-order',
    'a stream does not end',
    editStream(responses, (events) => events.slice(0, -1)),
  ),
  fault('responses-previous', 'previous_response_id is ignored', without(responses, 'previous_response_id')),
  fault(
    'responses-unknown',
    'an unknown response is ignored',
    asked(responses, (body) => ({
      ...body,
      ...(/nobody/.test(body.previous_response_id) && { previous_response_id: undefined }),
    })),
  ),
  fault(
    'responses-not-stored',
    'a response is kept although it must not be',
    asked(responses, (body) => ({ ...body, store: true })),
  ),
  fault('responses-instructions', 'instructions are dropped', without(responses, 'instructions')),
  fault(
    'responses-tool-results',
    'the output of a call is dropped',
    asked(responses, (body) => ({
      ...body,
      ...(Array.isArray(body.input) && {
        input: body.input.map((item: Json) => (item.output ? { ...item, output: 'One.' } : item)),
      }),
    })),
  ),
  fault(
    'messages-order',
    'blocks do not stop',
    editStream(messages, (events) => events.filter(({ data }) => data.type !== 'content_block_stop')),
  ),
  fault(
    'messages-limit',
    'truncated messages say end_turn',
    edit(messages, (json) => ({ ...json, stop_reason: 'end_turn' })),
  ),
  fault('messages-system', 'the system prompt is dropped', without(messages, 'system')),
  fault(
    'messages-calls-streamed',
    'pieces of the input of a call are lost',
    editStream(messages, (events) => events.filter(({ data }) => data.delta?.partial_json === undefined)),
  ),
  fault(
    'messages-count',
    'tokens are guessed',
    edit(at('/v1/messages/count_tokens'), (json) => ({ ...json, input_tokens: json.input_tokens * 2 })),
  ),
  fault('messages-errors', 'errors have the form of OpenAI', {
    answers: (got, sent) =>
      messages(sent) && got.status === 400 ? { ...got, text: '{"error":{"message":"bad","type":"x"}}' } : got,
  }),
  fault(
    'messages-stop',
    'the stop sequence is not named',
    edit(messages, (json) => ({ ...json, stop_sequence: null })),
  ),
  fault(
    'messages-ending',
    'streams have no stop reason',
    each(messages, (data) => data.type === 'message_delta' && delete data.delta.stop_reason),
  ),
  fault('ollama-done', 'no line is done', {
    answers: (got, sent) =>
      ollama(sent) && got.type.includes('ndjson') ? { ...got, text: got.text.replace('"done":true', '"done":false') } : got,
  }),
  fault(
    'ollama-form',
    'replies have no counts',
    edit(ollama, (json) => ({ ...json, eval_count: undefined })),
  ),
  fault(
    'ollama-limit',
    'num_predict is ignored',
    asked(ollama, (body) => ({ ...body, options: { ...body.options, num_predict: 24 } })),
  ),
  fault(
    'ollama-errors',
    'any model is accepted by Ollama',
    asked(ollama, (body) => ({ ...body, model: 'dragoman-tiny' })),
  ),
  fault(
    'embeddings-order',
    'vectors are in another order',
    edit(embeddings, (json) => ({
      ...json,
      data: json.data.map((one: Json, index: number) => ({ ...one, embedding: json.data.at(-1 - index).embedding })),
    })),
  ),
  fault(
    'embeddings-different',
    'all vectors are the same',
    edit(embeddings, (json) => ({
      ...json,
      data: json.data.map((one: Json) => ({ ...one, embedding: json.data[0].embedding })),
    })),
  ),
  fault('embeddings-base64', 'base64 is ignored', without(embeddings, 'encoding_format')),
  fault(
    'embeddings-usage',
    'vectors cost nothing',
    edit(embeddings, (json) => ({ ...json, usage: { prompt_tokens: 0, total_tokens: 0 } })),
  ),
  fault(
    'completions-logprobs',
    'completions have logprobs of chats',
    edit(completions, put('choices.0.logprobs', { content: [] })),
  ),
  fault(
    'completions-stream',
    'a stream of a completion does not end',
    editStream(completions, (events) => events.slice(0, -1)),
  ),
  fault('completions-stop', 'completions do not stop', without(completions, 'stop')),
  fault(
    'clients-claude-code',
    'fields of Claude Code are refused',
    refused((sent) => messages(sent) === false && sent.path.startsWith('/v1/messages?')),
  ),
  fault('cancel-streamed', 'a stream goes on when its client has left', { leaks: 'streamed' }),
  fault('cancel-whole', 'a reply goes on when its client has left', { leaks: 'whole' }),
]
