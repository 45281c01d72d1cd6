import type { TraitTemplates } from './trait-conversations.ts'
import { follows, refuse, template, withCalls } from './trait-conversations.ts'

/** The traits of calls in earlier turns. */
export const callTraitTemplates: readonly TraitTemplates[] = [
  {
    trait: 'toolHistory',
    conversations: [...withCalls, 'a call behind text', 'a question after a result'],
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({ turn: "{% if m.role in ['system', 'user', 'assistant'] %}<{{ m.role }}>{{ m.content }}{% endif %}" }),
      },
    ],
  },
  {
    trait: 'resultsAlone',
    conversations: [...withCalls, 'a call behind text', 'a question after a result', 'a result of no call'],
    templates: [
      { value: false, source: template() },
      { value: true, source: template({ calls: '' }) },
      {
        value: false,
        source: template({ calls: '', turn: "{% if m.role != 'tool' %}<{{ m.role }}>{{ m.content }}{% endif %}" }),
      },
    ],
  },
  {
    trait: 'losesFirstReply',
    conversations: ['a greeting', 'a call at the start', 'a result at the start', 'three turns', 'a call and its result'],
    withTool: true,
    templates: [
      { value: 'never', source: template() },
      { value: 'never', source: template({ guard: refuse("loop.first and m.role != 'user'", 'user first') }) },
      {
        value: 'beside-tools',
        source: template({
          turn: "<{{ m.role if not (tools and loop.first) else 'user' }}>{{ m.content }}{% if not (tools and loop.first) %}{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{{ c.function.arguments | tojson }}{% endfor %}{% endif %}",
        }),
      },
      {
        value: 'always',
        source: template({
          turn: "{% if not (loop.first and m.role == 'assistant') %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{{ c.function.arguments | tojson }}{% endfor %}{% endif %}",
        }),
      },
    ],
  },
  {
    trait: 'userAfterTool',
    conversations: [
      'a question after a result',
      'a call and its result',
      'a call, its result and an answer',
      'two calls',
      'a question after a call',
    ],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse(follows('user', 'tool'), 'answer first') }) },
    ],
  },
  {
    trait: 'userAfterCall',
    conversations: [
      'a question after a call',
      'a call and its result',
      'a question after a result',
      'two calls',
      'a call behind text',
    ],
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({ guard: refuse(`${follows('user', 'assistant')} and loop.previtem.tool_calls`, 'result first') }),
      },
    ],
  },
  {
    trait: 'strayResults',
    conversations: [
      'a result of no call',
      'a call and its result',
      'two calls',
      'a question after a result',
      'two rounds behind text',
    ],
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({ guard: refuse("m.role == 'tool' and loop.previtem.role not in ['assistant', 'tool']", 'no call') }),
      },
    ],
  },
  {
    trait: 'systemBeforeCalls',
    conversations: [
      'a system message and a call',
      'a call and its result',
      'two calls',
      'two rounds behind text',
      'a question after a result',
    ],
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({
          turn: "{% if m.role != 'system' or messages | length < 3 %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{{ c.function.arguments | tojson }}{% endfor %}{% endif %}",
        }),
      },
    ],
  },
  {
    trait: 'callsTogether',
    conversations: ['two calls', 'a call and its result', 'two rounds behind text', 'a call behind text', 'no arguments'],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse('m.tool_calls and m.tool_calls | length > 1', 'one call') }) },
    ],
  },
  {
    trait: 'callsBesideText',
    conversations: [
      'a call behind text',
      'two rounds behind text',
      'a call and its result',
      'two calls',
      'reasoning, text and a call',
    ],
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({
          turn: '<{{ m.role }}>{% if m.tool_calls %}{% for c in m.tool_calls %}<{{ c.function.name }}>{{ c.function.arguments | tojson }}{% endfor %}{% else %}{{ m.content }}{% endif %}',
        }),
      },
    ],
  },
  {
    trait: 'textBeforeCalls',
    conversations: ['two rounds behind text', 'a call behind text', 'a call and its result', 'two answers', 'two calls'],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse(follows('assistant', 'assistant'), 'alternate') }) },
    ],
  },
  {
    trait: 'reasoningBesideCall',
    conversations: ['reasoning', 'reasoning and a call', 'reasoning, text and a call', 'a call and its result', 'two calls'],
    templates: [
      { value: ['reasoning_content'], source: template() },
      {
        value: [],
        source: template({
          reasoning: '{% if m.reasoning_content and not m.tool_calls %}<r>{{ m.reasoning_content }}</r>{% endif %}',
        }),
      },
    ],
  },
]
