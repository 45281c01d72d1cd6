import {
  alter,
  asked,
  callsOf,
  chat,
  each,
  edit,
  editCalls,
  entries,
  failing,
  fault,
  last,
  put,
  streams,
  textParts,
  whole,
  without,
} from './breaking.ts'
import type { Fault } from './faulty-server.ts'

export const promiseFaults: readonly Fault[] = [
  fault('tools-required', 'required calls are not made', without(whole, 'tool_choice', 'tools')),
  fault('tools-named', 'another function than the named one is called', editCalls(put('function.name', 'get_time'))),
  fault(
    'tools-none',
    'tools are called although none are wanted',
    asked(chat, (body) => (body.tool_choice === 'none' ? { ...body, tool_choice: 'required', max_tokens: 400 } : body)),
  ),
  fault('tools-required', 'arguments are broken JSON', editCalls(alter('function.arguments', (text) => text.slice(0, -1)))),
  fault('tools-required', 'arguments are an object', editCalls(put('function.arguments', {}))),
  fault('tools-ids', 'all calls have one id', editCalls(put('id', 'call_0'))),
  fault(
    'tools-finish-streamed',
    'streams with calls say stop',
    each(
      streams,
      alter('choices.0.finish_reason', (reason) => reason && 'stop'),
    ),
  ),
  fault('tools-arguments', 'arguments ignore the schema', editCalls(put('function.arguments', '{"location":"Oslo"}'))),
  fault(
    'tools-deltas',
    'pieces of calls have no id',
    each(streams, (data) => delete data.choices?.[0]?.delta?.tool_calls?.[0]?.id),
  ),
  fault(
    'tools-no-text',
    'calls are text as well',
    edit(
      ({ body }) => body.tool_choice === 'required',
      (json) => put('choices.0.message.content', JSON.stringify(callsOf(json)[0].function))(json),
    ),
  ),
  fault(
    'tools-single',
    'parallel_tool_calls is ignored',
    edit(
      ({ body }) => body.parallel_tool_calls === false,
      (json) => void callsOf(json).push({ ...callsOf(json)[0], id: 'call_other1' }),
    ),
  ),
  fault(
    'tools-read',
    'optional tools are dropped',
    asked(chat, (body) => (body.tool_choice === 'auto' ? { ...body, tools: undefined, tool_choice: undefined } : body)),
  ),
  fault(
    'tools-unknown',
    'an unknown function is accepted',
    asked(chat, (body) => (body.tool_choice?.function?.name === 'get_wether' ? { ...body, tool_choice: 'auto' } : body)),
  ),
  fault('schemas-odd', 'schemas are ignored', without(whole, 'response_format')),
  fault(
    'schemas-strict',
    'JSON is in a fence',
    edit(
      ({ body }) => body.response_format !== undefined,
      (json) => put('choices.0.message.content', `\`\`\`json\n${json.choices[0].message.content}\n\`\`\``)(json),
    ),
  ),
  fault('schemas-streamed', 'schemas are ignored in streams', without(streams, 'response_format')),
  fault(
    'schemas-invalid',
    'a schema that is none is ignored',
    asked(whole, (body) => (JSON.stringify(body).includes('no-such-type') ? { ...body, response_format: undefined } : body)),
  ),
  fault(
    'usage-sums',
    'the total is wrong',
    edit(
      whole,
      alter('usage.total_tokens', (count) => count + 1),
    ),
  ),
  fault('usage-prompt', 'the count of a prompt is a constant', edit(whole, put('usage.prompt_tokens', 20))),
  fault(
    'usage-completion',
    'characters are counted as tokens',
    edit(whole, (json) => put('usage.completion_tokens', json.choices[0].message.content?.length ?? 0)(json)),
  ),
  fault(
    'usage-streamed',
    'streams count otherwise',
    each(
      streams,
      alter('usage.completion_tokens', (count) => count + 3),
    ),
  ),
  fault('sampling-greedy', 'temperature 0 is drawn', {
    answers: (got, sent) =>
      whole(sent)
        ? { ...got, text: got.text.replace(/"content":"(\w)/, (_, first) => `"content":"${Math.random()}${first}`) }
        : got,
  }),
  fault('sampling-seed', 'seeds are ignored', {
    answers: (got, sent) =>
      sent.body.seed !== undefined
        ? { ...got, text: got.text.replace(/"content":"(\w)/, (_, first) => `"content":"${Math.random()}${first}`) }
        : got,
  }),
  fault('sampling-logprobs', 'logprobs are ignored', without(chat, 'logprobs', 'top_logprobs')),
  fault(
    'sampling-logprobs',
    'logprobs are probabilities',
    entries((list) => list.map((one) => ({ ...one, logprob: Math.exp(one.logprob) }))),
  ),
  fault(
    'sampling-top-logprobs',
    'there are fewer top_logprobs',
    entries((list) => list.map((one) => ({ ...one, top_logprobs: one.top_logprobs.slice(0, 1) }))),
  ),
  fault(
    'sampling-logprobs-count',
    'some tokens have no entry',
    entries((list) => list.slice(0, -4)),
  ),
  fault(
    'sampling-logprobs-text',
    'entries have other tokens',
    entries((list) => list.map((one) => ({ ...one, token: 'x' }))),
  ),
  fault('errors-json', 'broken JSON makes the server fail', {
    answers: (got, { path, body }) =>
      path === '/v1/chat/completions' && Object.keys(body).length === 0 ? { ...got, status: 500 } : got,
  }),
  fault('errors-json', 'errors are HTML', failing(400, { type: 'text/html', text: '<h1>400</h1>' })),
  fault('errors-messages', 'errors are texts', failing(400, { text: '{"error":"bad"}' })),
  fault(
    'errors-model',
    'any model is accepted',
    asked(chat, (body) => ({ ...body, model: body.model && 'dragoman-tiny' })),
  ),
  fault(
    'errors-type',
    'wrong types are ignored',
    asked(chat, (body) => ({ ...body, ...(typeof body.temperature === 'string' && { temperature: 1 }) })),
  ),
  fault(
    'errors-range',
    'values out of range are ignored',
    asked(chat, (body) => ({ ...body, ...(body.top_p > 1 && { top_p: 1 }) })),
  ),
  fault('errors-streamed', 'errors of streams have status 200', {
    answers: (got, sent) =>
      streams(sent) && got.status === 400 ? { status: 200, type: 'text/event-stream', text: `data: ${got.text}\n\n` } : got,
  }),
  fault(
    'errors-image',
    'images are ignored',
    textParts(chat, (parts) => parts.filter(({ type }) => type === 'text')),
  ),
  fault(
    'errors-role',
    'unknown roles are dropped',
    asked(chat, (body) => ({
      ...body,
      ...(last(body)?.role === 'nobody' && { messages: [{ role: 'user', content: 'Hello.' }] }),
    })),
  ),
  fault(
    'errors-message',
    'errors name nothing',
    failing(400, { text: '{"error":{"message":"Bad request","type":"invalid_request_error"}}' }),
  ),
]
