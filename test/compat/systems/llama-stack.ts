import { call, calling, fine, saying } from '../answers.ts'
import { calls, has, status, text, upstreamGot, upstreamLacks } from '../checks.ts'
import {
  assistant,
  better,
  called,
  complete,
  differs,
  imagePart,
  over,
  type Row,
  refused,
  refuses,
  result,
  type System,
  sent,
  shownBy,
  system,
  textPart,
  tiny,
  tool,
  user,
  works,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'
import { stackReplies } from './llama-stack-replies.ts'
import { stackRoutes } from './llama-stack-routes.ts'
import { overStack, stack } from './stack-steps.ts'

const strategy = (type: string, more: object = {}) => ({ sampling_params: { strategy: { type, ...more } } })

const sampling: readonly Row[] = [
  works(1, 'no options, none are sent', overStack(fine, {}, upstreamLacks('temperature'), upstreamLacks('top_p'))),
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
  ),
  better(
    4,
    ['the strategy `top_k`', 'sent to servers that have it; of others a 400'],
    overStack(fine, strategy('top_k', { top_k: 5 }), upstreamGot('top_k', 5)),
    overStack(fine, { model_id: 'groq', ...strategy('top_k', { top_k: 5 }) }, status(400, /top_k/)),
  ),
  works(
    5,
    'other strategies are a 400',
    stack(strategy('beam'), status(400, /loc/)),
    stack(strategy('top_k', { top_k: 0 }), status(400)),
  ),
  better(
    6,
    ['`max_tokens` is sent', 'by the name that the server knows; and kept here where it is ignored'],
    overStack(
      saying('a', 'b', 'c'),
      { sampling_params: { max_tokens: 2 } },
      has('completion_message.stop_reason', 'out_of_tokens'),
    ),
  ),
  works(7, '`max_tokens: 0` is unset', overStack(fine, { sampling_params: { max_tokens: 0 } }, upstreamLacks('max_tokens'))),
  works(
    8,
    '`repetition_penalty: 1` is off',
    overStack(fine, { sampling_params: { repetition_penalty: 1 } }, upstreamGot('repetition_penalty', 1)),
  ),
  better(
    9,
    ['`repetition_penalty` as `repeat_penalty`', 'by the name of each server; a 400 where there is none'],
    overStack(fine, { sampling_params: { repetition_penalty: 1.2 } }, upstreamGot('repetition_penalty', 1.2)),
    overStack(fine, { model_id: 'openai', sampling_params: { repetition_penalty: 1.2 } }, status(400, /repetition_penalty/)),
  ),
  works(
    10,
    'stop sequences, as a list or a text',
    overStack(saying('a STOP b'), { sampling_params: { stop: ['STOP'] } }, has('completion_message.content', /^a ?$/)),
  ),
  better(11, ['`stop: []`', 'the same as none'], overStack(fine, { sampling_params: { stop: [] } }, upstreamLacks('stop'))),
  better(
    12,
    ['what Together, Fireworks and TGI have of their own', 'their forms of constraints, and their limits of log-probabilities'],
    over(
      fine,
      { model: 'together', response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } },
      status(502, /invalid_output/),
    ),
  ),
  differs(
    13,
    ['`response_format` with a grammar', 'as GBNF in a text; `bnf` as an object has no meaning that any provider defines: 400'],
    stack(
      { model_id: 'dragoman-tiny', response_format: { type: 'grammar', bnf: 'root ::= "ab"' } },
      has('completion_message.content', 'ab'),
    ),
    stack({ response_format: { type: 'grammar', bnf: { rules: [] } } }, status(400)),
  ),
  better(
    14,
    ['`response_format` with a schema', 'a reply that breaks it is a 502'],
    stack(
      { model_id: 'dragoman-tiny', response_format: { type: 'json_schema', json_schema: { const: 7 } } },
      has('completion_message.content', '7'),
    ),
  ),
  better(
    15,
    ['`json_object`', 'what is not JSON is a 502'],
    over(saying('not json'), { response_format: { type: 'json_object' } }, status(502, /invalid_output/)),
  ),
  works(
    16,
    '`seed`, penalties, `logit_bias`, `logprobs`',
    over(
      fine,
      { seed: 5, frequency_penalty: 0.5, logit_bias: { 5: 1 } },
      upstreamGot('seed', 5),
      upstreamGot('frequency_penalty', 0.5),
      upstreamGot('logit_bias', { 5: 1 }),
    ),
  ),
  better(
    17,
    ['`n`', 'a request for each where the server lacks it'],
    over(fine, { model: 'ollama', n: 2 }, has('choices.1.message.content', 'ok')),
  ),
  better(
    18,
    ['`n`, which a server ignores', 'the missing choice is asked for'],
    over(fine, { n: 2 }, has('choices.1.message.content', 'ok')),
  ),
  works(
    19,
    '`user`, `safety_identifier`, `metadata`, `service_tier`, `prompt_cache_key`, `store`',
    over(
      fine,
      { model: 'openai', user: 'u', safety_identifier: 's', metadata: { a: 'b' }, service_tier: 'flex', prompt_cache_key: 'k' },
      upstreamGot('safety_identifier', 's'),
      upstreamGot('prompt_cache_key', 'k'),
      upstreamGot('metadata', { a: 'b' }),
    ),
  ),
  works(20, '`verbosity`', over(fine, { model: 'openai', verbosity: 'low' }, upstreamGot('verbosity', 'low'))),
  works(
    21,
    'completions: forms of prompts, `echo`, `suffix`, `guided_choice`',
    complete({ prompt: ['a'], echo: true }, has('choices.0.text', 'aa')),
    tiny({ guided_choice: ['yes'] }, text('yes')),
  ),
  refused(
    22,
    ['`best_of`, `prompt_logprobs`', '`n` gives all choices; `echo` with `logprobs` has those of the prompt'],
    refuses(complete({ best_of: 2 }), 'best_of'),
    refuses(complete({ prompt_logprobs: 1 }), 'prompt_logprobs'),
  ),
  works(
    23,
    'keys of providers for each request',
    sent({ headers: { 'x-llamastack-provider-data': 'not json' } }, stack({ model_id: 'together' }, status(400))),
    shownBy('e2e/server/caller-keys.test.ts', 'callers at the same time have their own keys'),
  ),
]

const f = { tool_name: 'f', description: 'd', parameters: { a: { param_type: 'string', description: 'x', required: true } } }

const toolConfig: readonly Row[] = [
  works(
    24,
    '`tool_choice: none`',
    overStack(saying('x'), { tools: [f], tool_config: { tool_choice: 'none' } }, has('completion_message.content', 'x')),
  ),
  works(
    25,
    'a choice must be declared',
    stack({ tools: [f], tool_config: { tool_choice: 'zzz' } }, status(400, /zzz|f/)),
    stack({ tool_config: { tool_choice: 'required' } }, status(400)),
  ),
  better(
    26,
    ['`tool_choice: required` or a name', 'enforced, or asked for twice and then a 502'],
    overStack(saying('no'), { tools: [f], tool_config: { tool_choice: 'required' } }, status(502)),
  ),
  differs(
    27,
    ['a named choice in the request to the server', 'only the chosen tool is declared, which says the same on every server'],
    overStack(
      calling(call('f', '{"a":"x"}')),
      { tools: [f, { ...f, tool_name: 'g' }], tool_config: { tool_choice: 'f' } },
      has('completion_message.tool_calls.0.tool_name', 'f'),
    ),
  ),
  works(
    28,
    '`parallel_tool_calls: false`',
    over(
      calling(call('f', '{}'), call('f', '{}', 1)),
      { tools: [tool()], parallel_tool_calls: false },
      upstreamGot('parallel_tool_calls', false),
      calls('f({})'),
    ),
  ),
  works(
    29,
    '`tool_prompt_format`: json, function_tag, python_list',
    ...['json', 'function_tag', 'python_list'].map((format) =>
      overStack(fine, { tools: [f], tool_config: { tool_prompt_format: format } }, status(200)),
    ),
  ),
  works(
    30,
    '`system_message_behavior`, `{{function_definitions}}`',
    overStack(
      fine,
      {
        tools: [f],
        messages: [system('S'), { role: 'user', content: 'x' }],
        tool_config: { tool_prompt_format: 'json', system_message_behavior: 'replace' },
      },
      status(200),
    ),
    stack({ tool_config: { system_message_behavior: 'zzz' } }, status(400)),
  ),
  works(
    31,
    'built-in tools: brave_search, wolfram_alpha, photogen, code_interpreter',
    overStack(
      saying('<|python_tag|>brave_search.call(query="x")'),
      { tools: [{ tool_name: 'brave_search' }] },
      has('completion_message.tool_calls.0.arguments', { query: 'x' }),
    ),
  ),
  works(
    32,
    '`tool_choice` and `tool_config` must agree',
    stack({ tools: [f], tool_choice: 'auto', tool_config: { tool_choice: 'required' } }, status(400)),
  ),
]

const conversations: readonly Row[] = [
  works(33, 'messages as texts', overStack(fine, {}, upstreamGot('messages.0', { role: 'user', content: 'hello' }))),
  better(
    34,
    ['a list of one text part', 'a text'],
    over(fine, { messages: [user([textPart('a')])] }, upstreamGot('messages.0.content', 'a')),
  ),
  works(
    35,
    'several text parts',
    over(fine, { messages: [user([textPart('a'), textPart('b')])] }, upstreamGot('messages.0.content', /a.*b/s)),
  ),
  works(
    36,
    'pictures, data URLs, `detail`',
    over(
      fine,
      { messages: [user([imagePart(picture, { detail: 'low' })])] },
      upstreamGot('messages.0.content.0.image_url.detail', 'low'),
    ),
  ),
  works(
    37,
    'content items `image` with `url.uri` or `data`',
    overStack(
      fine,
      { messages: [user({ type: 'image', image: { data: redPixel } })] },
      upstreamGot('messages.0.content.0.type', 'image_url'),
    ),
    stack({ messages: [user({ type: 'image', image: {} })] }, status(400)),
  ),
  better(
    38,
    ['pictures of the web are inlined', 'fetched once, and checked'],
    shownBy('../src/app/media-addresses.test.ts', 'reads an address that is allowed'),
  ),
  better(
    39,
    ['addresses are not checked', 'private ones, SVG and bad base64 are a 400'],
    over(fine, { messages: [user([imagePart('http://10.0.0.1/')])] }, status(400)),
  ),
  better(
    40,
    ['calls and their ids in the history', 'arguments of all forms'],
    over(
      fine,
      { messages: [user('q'), called({ a: 1 }), result('r')] },
      upstreamGot('messages.1.tool_calls.0.function.arguments', /^\{"a": ?1\}$/),
      upstreamGot('messages.2.tool_call_id', 'a'),
    ),
  ),
  differs(
    41,
    ['arguments in the history that are not JSON', 'are sent as they are: a model wrote them'],
    over(
      fine,
      { messages: [user('q'), called('{oops'), result('r')] },
      upstreamGot('messages.1.tool_calls.0.function.arguments', /oops/),
    ),
  ),
  works(
    42,
    'results of tools',
    over(fine, { messages: [user('q'), called('{}'), result([textPart('r')])] }, upstreamGot('messages.2.content', /r/)),
  ),
  better(
    43,
    ['`developer`', 'in chats; not a role of llama-stack'],
    over(fine, { messages: [{ role: 'developer', content: 'x' }, user('a')] }, text('ok')),
    stack({ messages: [{ role: 'developer', content: 'x' }] }, status(400)),
  ),
  works(
    44,
    'unknown roles and no messages: 400',
    stack({ messages: [] }, status(400)),
    stack({ messages: [{ role: 'x', content: 'a' }] }, status(400, /loc/)),
  ),
  differs(
    45,
    ['pictures of system, assistant and tools', 'of a system message a 400; of the others passed on, since tools make pictures'],
    over(fine, { messages: [{ role: 'system', content: [imagePart(picture)] }, user('x')] }, status(400)),
    over(fine, { messages: [user('q'), called('{}'), result([textPart('r'), imagePart(picture)])] }, status(200)),
  ),
  better(
    46,
    ['thoughts in the history', 'by both names'],
    over(fine, { messages: [user('a'), assistant('b', { reasoning_content: 'c' }), user('d')] }, text('ok')),
  ),
  works(
    47,
    'messages of a completion and of a tool, with `call_id`, `tool_name`',
    overStack(
      fine,
      {
        tools: [f],
        messages: [
          user('q'),
          {
            role: 'assistant',
            content: '',
            stop_reason: 'end_of_message',
            tool_calls: [{ call_id: 'c', tool_name: 'f', arguments: { a: 'x' } }],
          },
          { role: 'tool', call_id: 'c', tool_name: 'f', content: 'r' },
        ],
      },
      upstreamGot('messages.2.tool_call_id', 'c'),
    ),
  ),
]

const schema = { type: 'object', properties: { a: { type: 'string', enum: ['x'], default: '' } } }

const definitions: readonly Row[] = [
  better(
    48,
    ['schemas reach the server', 'as they are, with defaults that are empty'],
    over(fine, { tools: [tool('f', schema)] }, upstreamGot('tools.0.function.parameters', schema)),
  ),
  works(49, 'a tool without parameters', over(fine, { tools: [{ type: 'function', function: { name: 'f' } }] }, text('ok'))),
  better(
    50,
    ['definitions with `param_type`', 'int, float, bool, str, list[T]; required by default'],
    overStack(
      fine,
      { tools: [{ tool_name: 'f', parameters: { a: { param_type: 'int' }, b: { param_type: 'list[str]', required: false } } }] },
      upstreamGot('tools.0.function.parameters.properties.a.type', 'integer'),
      upstreamGot('tools.0.function.parameters.properties.b.items.type', 'string'),
      upstreamGot('tools.0.function.parameters.required', ['a']),
    ),
  ),
]

/** llama-stack with an adapter of OpenAI's API. */
export const llamaStack: System = {
  title: 'llama-stack',
  prefix: 'S',
  introduction: 'Its inference API in front of any engine; its adapters of providers are models with the engine `remote`.',
  groups: [
    { title: 'sampling', rows: sampling },
    { title: 'tools of a request', rows: toolConfig },
    { title: 'conversations', rows: conversations },
    { title: 'definitions of tools', rows: definitions },
    ...stackReplies,
    ...stackRoutes,
  ],
}
