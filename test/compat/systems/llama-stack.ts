import { fine, saying, whole } from '../answers.ts'
import { has, status, text, upstreamGot, upstreamGotEach, upstreamLacks, upstreamSaw } from '../checks.ts'
import { better, chat, complete, differs, get, over, type Row, refuses, type System, sent, tiny, works } from '../row.ts'
import { stackReplies } from './llama-stack-replies.ts'
import { stackRequests } from './llama-stack-requests.ts'
import { stackRoutes } from './llama-stack-routes.ts'
import { content, overStack, stack, stopReason } from './stack-steps.ts'

const strategy = (type: string, more: object = {}) => ({ sampling_params: { strategy: { type, ...more } } })
const format = (schema: object) => ({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
const anyObject = { type: 'object' }
const json = saying('{}')

const sampling: readonly Row[] = [
  works(
    1,
    'no options, none are sent',
    overStack(
      fine,
      {},
      upstreamGot('', (sentBody: object) => Object.keys(sentBody).join() === 'model,messages,stream,stream_options'),
    ),
  ),
  works(2, 'the strategy `greedy`', overStack(fine, strategy('greedy'), upstreamGot('temperature', 0))),
  works(
    3,
    'the strategy `top_p`',
    overStack(
      fine,
      strategy('top_p', { temperature: 0.5, top_p: 0.9 }),
      upstreamGot('top_p', 0.9),
      upstreamGot('temperature', 0.5),
    ),
    overStack(fine, strategy('top_p', { temperature: 0.5 }), upstreamGot('top_p', 0.95)),
  ),
  better(
    4,
    ['the strategy `top_k`', 'sent to servers that have it; of others a 400'],
    overStack(fine, strategy('top_k', { top_k: 5 }), upstreamGot('top_k', 5), upstreamLacks('temperature')),
    overStack(fine, { model_id: 'groq', ...strategy('top_k', { top_k: 5 }) }, status(400, /"strategy","top_k"/)),
  ),
  works(
    5,
    'other strategies are a 400',
    stack(strategy('beam'), status(400, /"loc":\["sampling_params","strategy","type"\]/)),
    stack(strategy('top_k', { top_k: 0 }), status(400, /"strategy","top_k"/)),
    stack(strategy('top_p', { temperature: 0 }), status(400, /"strategy","temperature"/)),
  ),
  better(
    6,
    ['`max_tokens` is sent', 'by the name that the server knows; and kept here where it is ignored'],
    overStack(
      saying('a', 'b', 'c'),
      { sampling_params: { max_tokens: 2 } },
      content('ab'),
      stopReason('out_of_tokens'),
      upstreamGot('max_tokens', 2),
    ),
    overStack(fine, { model_id: 'openai', sampling_params: { max_tokens: 2 } }, upstreamGot('max_completion_tokens', 2)),
  ),
  works(
    7,
    '`max_tokens: 0` is unset',
    overStack(saying('a', 'b'), { sampling_params: { max_tokens: 0 } }, content('ab'), upstreamLacks('max_tokens')),
    chat({ max_tokens: 0 }, status(400, /"param":"max_tokens"/)),
  ),
  works(
    8,
    '`repetition_penalty: 1` is off',
    overStack(fine, { sampling_params: { repetition_penalty: 1 } }, upstreamGot('repetition_penalty', 1)),
    overStack(fine, { model_id: 'openai', sampling_params: { repetition_penalty: 1 } }, content('ok')),
  ),
  better(
    9,
    ['`repetition_penalty` as `repeat_penalty`', 'by the name of each server; a 400 where there is none'],
    overStack(fine, { sampling_params: { repetition_penalty: 1.2 } }, upstreamGot('repetition_penalty', 1.2)),
    overStack(
      fine,
      { model_id: 'llama-server', sampling_params: { repetition_penalty: 1.2 } },
      upstreamGot('repeat_penalty', 1.2),
    ),
    overStack(fine, { model_id: 'openai', sampling_params: { repetition_penalty: 1.2 } }, status(400, /repetition_penalty/)),
  ),
  works(
    10,
    'stop sequences, as a list or a text',
    overStack(saying('a STOP b'), { sampling_params: { stop: ['###', 'STOP'] } }, content('a '), stopReason('end_of_turn')),
    over(saying('a STOP b'), { stop: 'STOP' }, text('a ')),
  ),
  better(
    11,
    ['`stop: []`', 'the same as none'],
    overStack(saying('a'), { sampling_params: { stop: [] } }, content('a'), upstreamLacks('stop')),
    stack({ sampling_params: { stop: [''] } }, status(400, /"sampling_params","stop"/)),
  ),
  better(
    12,
    ['what Together, Fireworks and TGI have of their own', 'their forms of constraints, and their limits of log-probabilities'],
    ...['together', 'fireworks'].map((model) =>
      over(json, { model, ...format(anyObject) }, upstreamGot('response_format', { type: 'json_object', schema: anyObject })),
    ),
    over(json, { model: 'tgi', ...format(anyObject) }, upstreamGot('response_format', { type: 'json_object', value: anyObject })),
    ...Object.entries({ together: 1, fireworks: 4, tgi: 5 }).map(([model, limit]) =>
      over(fine, { model, logprobs: true, top_logprobs: limit + 1 }, status(400, new RegExp(`at most ${limit} top`))),
    ),
  ),
  differs(
    13,
    ['`response_format` with a grammar', 'as GBNF in a text; `bnf` as an object has no meaning that any provider defines: 400'],
    stack({ model_id: 'dragoman-tiny', response_format: { type: 'grammar', bnf: 'root ::= "ab"' } }, content('ab')),
    stack({ response_format: { type: 'grammar', bnf: { rules: [] } } }, status(400, /"response_format","bnf"/)),
  ),
  better(
    14,
    ['`response_format` with a schema', 'a reply that breaks it is a 502'],
    stack({ model_id: 'dragoman-tiny', response_format: { type: 'json_schema', json_schema: { const: 7 } } }, content('7')),
    overStack(
      saying('8'),
      { response_format: { type: 'json_schema', json_schema: { const: 7 } } },
      status(502, /does not satisfy the schema/),
      upstreamGot('response_format.json_schema.schema', { const: 7 }),
    ),
  ),
  better(
    15,
    ['`json_object`', 'what is not JSON is a 502'],
    over(saying('not json'), { response_format: { type: 'json_object' } }, status(502, /invalid_output/)),
    over(json, { response_format: { type: 'json_object' } }, text('{}'), upstreamGot('response_format.type', 'json_object')),
  ),
  works(
    16,
    '`seed`, penalties, `logit_bias`, `logprobs`',
    over(
      fine,
      { seed: 5, frequency_penalty: 0.5, presence_penalty: 0.25, logit_bias: { 5: 1 } },
      upstreamGot('seed', 5),
      upstreamGot('frequency_penalty', 0.5),
      upstreamGot('presence_penalty', 0.25),
      upstreamGot('logit_bias', { 5: 1 }),
    ),
    tiny({ logprobs: true, top_logprobs: 2 }, has('choices.0.logprobs.content.0.top_logprobs.1.token', /./)),
    ...Object.entries({ presence_penalty: 0.5, frequency_penalty: 0.5, logit_bias: { 5: 1 } }).map(([name, value]) =>
      refuses(over(fine, { model: 'groq', [name]: value }), name),
    ),
  ),
  better(
    17,
    ['`n`', 'a request for each where the server lacks it'],
    over(fine, { model: 'ollama', n: 2 }, has('choices.1.message.content', 'ok'), upstreamGotEach('n', undefined, undefined)),
  ),
  better(
    18,
    ['`n`, which a server ignores', 'the missing choice is asked for'],
    over(fine, { n: 2 }, has('choices.1.message.content', 'ok'), upstreamGotEach('n', 2, undefined)),
  ),
  works(
    19,
    '`user`, `safety_identifier`, `metadata`, `service_tier`, `prompt_cache_key`, `store`',
    over(
      fine,
      {
        ...{ model: 'openai', user: 'u', safety_identifier: 's', metadata: { row: 'S19' }, service_tier: 'flex' },
        ...{ prompt_cache_key: 'k', store: true },
      },
      upstreamGot('user', 'u'),
      upstreamGot('safety_identifier', 's'),
      upstreamGot('prompt_cache_key', 'k'),
      upstreamGot('service_tier', 'flex'),
      upstreamGot('metadata', { row: 'S19' }),
    ),
    get('/v1/chat/completions?metadata[row]=S19', has('data.0.input_user', 'u')),
  ),
  works(
    20,
    '`verbosity`',
    over(fine, { model: 'openai', verbosity: 'low' }, upstreamGot('verbosity', 'low')),
    refuses(over(fine, { model: 'groq', verbosity: 'low' }), 'verbosity'),
  ),
  works(
    21,
    'completions: forms of prompts, `echo`, `suffix`, `guided_choice`',
    complete({ prompt: ['a', 'b'], echo: true }, has('choices.0.text', 'aa'), has('choices.1.text', 'bb')),
    ...[[72, 105], [[72, 105]]].map((prompt) =>
      complete({ model: 'dragoman-tiny', prompt, max_tokens: 1 }, has('usage.prompt_tokens', 2)),
    ),
    complete({ model: 'dragoman-tiny', guided_choice: ['yes'] }, text('yes')),
    tiny({ guided_choice: ['yes'] }, text('yes')),
    sent(
      { upstream: whole({ choices: [{ index: 0, text: 'b', finish_reason: 'stop' }] }) },
      complete({ model: 'openai', prompt: 'a', suffix: 'c' }, text('b'), upstreamGot('suffix', 'c')),
    ),
  ),
  differs(
    22,
    ['`best_of`, `prompt_logprobs`', '`best_of` is refused: `n` gives all choices'],
    refuses(complete({ best_of: 2 }), 'best_of'),
    complete({ prompt_logprobs: 1 }, has('choices.0.prompt_logprobs.0', null)),
  ),
  works(
    23,
    'keys of providers for each request',
    sent({ headers: { 'x-llamastack-provider-data': 'not json' } }, stack({ model_id: 'together' }, status(400, /is not JSON/))),
    ...['a', 'b'].map((key) =>
      sent(
        { headers: { 'x-llamastack-provider-data': JSON.stringify({ together_api_key: key }) } },
        overStack(
          fine,
          { model_id: 'together' },
          content('ok'),
          upstreamSaw(({ headers }) => headers.authorization === `Bearer ${key}`),
        ),
      ),
    ),
  ),
]

/** llama-stack with an adapter of OpenAI's API. */
export const llamaStack: System = {
  title: 'llama-stack',
  prefix: 'S',
  introduction: 'Its inference API in front of any engine; its adapters of providers are models with the engine `remote`.',
  groups: [{ title: 'sampling', rows: sampling }, ...stackRequests, ...stackReplies, ...stackRoutes],
}
