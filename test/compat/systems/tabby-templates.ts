import { type Check, calls, event, has, status, text } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  differs,
  elsewhere,
  type Group,
  get,
  post,
  type Row,
  shownBy,
  tiny,
  tool,
  user,
  works,
  writes,
} from '../row.ts'

const described = (messages: readonly object[], more: object, ...checks: readonly Check[]) =>
  chat({ model: 'described', messages, ...more }, ...checks)

const templates: readonly Row[] = [
  differs(
    91,
    [
      'where a template is looked for',
      "what was switched to or loaded with, `chatTemplate`, the folder of templates by the model's whole name, the model's file: the card and the log say which",
    ],
    post('/apply-template', { model: 'described', messages: [user('x')] }, has('prompt', /<user>x/)),
    post('/apply-template', { model: 'found-by-name', messages: [user('x')] }, has('prompt', '[found] x')),
    get('/v1/model?model=found-by-name', has('parameters.prompt_template', 'found-by-name')),
  ),
  works(
    92,
    'filters and functions of Jinja, in a sandbox',
    shownBy('../src/jinja/jinja-goldens.test.ts', 'recorded renders of Python'),
  ),
  works(93, '`stop_strings` of a template end the answer', described([user('abc STOPME def')], {}, text('abc '))),
  works(
    94,
    '`tool_start` and `tool_end` of a template delimit calls, and vanish',
    described(
      [user(JSON.stringify({ raw: 'sure <|tool_start|>[{"name":"f","arguments":{"a":1}}]<|tool_end|>' }))],
      { tools: [tool()] },
      calls('f({"a":1})'),
      text(/^sure ?$/),
    ),
    described([user('sure <|tool_start|><|tool_end|>')], {}, text(/^sure ?$/)),
  ),
  works(
    95,
    '`tool_call_format` of a template',
    described(
      [user(JSON.stringify({ raw: '<|tool_start|>[{"name":"f","arguments":{}}]<|tool_end|>' }))],
      { tools: [tool()], stream: true },
      event('choices.0.delta.tool_calls.0.function.name', 'f'),
    ),
  ),
  better(
    96,
    [
      '`prompt_template` of a request',
      'tabbyAPI ignores it; here one of the folder for this request, of keys with the scope `admin`',
    ],
    chat({ messages: [user('abc STOPME def')], prompt_template: 'described' }, text('abc ')),
    chat({ messages: [user('abc STOPME def')] }, text('abc STOPME def')),
    chat({ prompt_template: 'x' }, status(400, /choose one of: model, described/)),
    asUser(chat({ prompt_template: 'described' }, status(403, /admin/))),
  ),
  works(
    97,
    'the variables messages, tools, add_generation_prompt',
    tiny({ template_vars: { messages: [] } }, status(400, /messages/)),
  ),
  works(
    98,
    'the variable `functions`',
    post(
      '/apply-template',
      { model: 'described', messages: [user('x')], functions: [{ name: 'f', parameters: {} }] },
      has('prompt', /"name": ?"f"/),
    ),
  ),
  works(
    99,
    '`bos_token`, `eos_token`',
    post('/apply-template', { model: 'dragoman-tiny', messages: [user('x')] }, has('prompt', /<\|im_end\|>/)),
  ),
  works(100, '`pad_token`, `unk_token`', shownBy('e2e/engines/chat-defaults.test.ts', 'has the tokens of its file')),
  works(
    101,
    '`template_vars`, `chat_template_kwargs`',
    post('/apply-template', { model: 'thinking', messages: [user('x')], template_vars: { tone: 'dry' } }, has('prompt', /dry$/)),
  ),
  works(
    102,
    'a first token that is there twice',
    shownBy('../src/engine/remote/completions-upstream.test.ts', 'has one BOS token where the server'),
  ),
  works(103, 'an error of the template: 400', shownBy('../src/jinja/jinja-goldens.test.ts', 'recorded renders of Python')),
  differs(
    104,
    ['422 without a template', '400 with the code template_failed'],
    post('/apply-template', { model: 'scripted', messages: [user('x')] }, status(400, /template/)),
  ),
]

const chats: readonly Row[] = [
  works(
    105,
    '`add_generation_prompt`',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', messages: [user('x')], add_generation_prompt: false },
      has('prompt', (all: string) => !all.endsWith('assistant\n')),
    ),
  ),
  works(106, '`response_prefix`', tiny({ response_prefix: 'So' })),
  works(
    107,
    '`continue_final_message`',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', continue_final_message: true, messages: [user('a'), { role: 'assistant', content: 'So ' }] },
      has('prompt', /So\s?$/),
    ),
  ),
  works(
    108,
    'thoughts alone are continued',
    tiny(
      { continue_final_message: true, messages: [user('q'), { role: 'assistant', content: null, reasoning_content: 'start' }] },
      status(200),
    ),
  ),
  works(
    109,
    '`reasoning_effort`, `enable_thinking`, `verbosity`',
    tiny({ enable_thinking: true }, has('choices.0.message.reasoning_content')),
  ),
  works(
    110,
    '`template_vars_default`, `template_vars_force`: `chat` of a model',
    elsewhere(post('/llm/apply-template', { messages: [user('x')] }, has('prompt', /dry$/))),
  ),
  works(
    111,
    'budgets of thinking',
    tiny({ enable_thinking: true, thinking_budget: 0 }),
    tiny({ enable_thinking: true, reasoning_budget: -1 }),
  ),
  better(
    112,
    ['`reasoning_budget_message`', 'also before a constrained answer, and behind llama-server'],
    tiny(
      { thinking: true, thinking_budget: 2, reasoning_budget_message: 'Enough.', max_tokens: 60, regex: '[a-z]{3}' },
      has('choices.0.message.reasoning_content', /Enough\.$/),
      text(/^[a-z]{3}$/),
    ),
    shownBy('e2e/engines/engine-llama-server.test.ts', 'thinking ends with its budget, and with the message for that'),
  ),
  works(
    113,
    '`reasoning_start_token`, `reasoning_end_token`: `reasoningTags` of a model',
    writes('[[Hm.]]Yes', { model: 'tagged' }, has('choices.0.message.reasoning_content', 'Hm.'), text('Yes')),
  ),
  works(
    114,
    '`tool_calls_in_reasoning`: `callsInReasoning` of a model',
    writes(
      '[[Hm. <tool_call>{"name": "f"}</tool_call>]]Yes',
      { model: 'tagged', tools: [tool()] },
      has('choices.0.message.tool_calls.0.function.name', 'f'),
      text('Yes'),
    ),
    shownBy('reasoning-tags.test.ts', 'are thoughts unless the operator wants them made'),
  ),
]

/** Templates and chats of tabbyAPI. */
export const tabbyTemplates: readonly Group[] = [
  { title: 'templates', rows: templates },
  { title: 'chats', rows: chats },
]
