import { callTraitTemplates } from './call-trait-templates.ts'
import { follows, plain, refuse, type TraitTemplates, template, withCalls } from './trait-conversations.ts'

/** Templates that read each of the variables that switch thinking. */
export const thinkingTemplates = ['enable_thinking', 'thinking', 'thinking_mode', 'thinking_budget', 'reasoning_effort'].map(
  (name) => ({
    name,
    source: template({ end: `<assistant ${name}={{ ${name} if ${name} is defined else 'unset' }}>` }),
  }),
)

/** Each trait with templates that have it and templates that do not, and the conversations in which that matters. */
export const traitTemplates: readonly TraitTemplates[] = [
  {
    trait: 'typedContent',
    conversations: [...plain, 'two questions', 'a call behind text'],
    templates: [
      { value: false, source: template() },
      { value: true, source: template({ content: '{% for p in m.content %}{{ p.text }}{% endfor %}' }) },
    ],
  },
  {
    trait: 'descriptions',
    conversations: [...plain, 'a call and its result'],
    withTool: true,
    templates: [
      { value: 'optional', source: template() },
      {
        value: 'tools',
        source: template({ tools: '{% for t in tools or [] %}<tool>{{ t.function.name + t.function.description }}{% endfor %}' }),
      },
      {
        value: 'parameters',
        source: template({
          tools:
            '{% for t in tools or [] %}<tool>{{ t.function.name + t.function.description }}{% for k, p in t.function.parameters.properties.items() %}<{{ k }}>{{ p.type + p.description }}{% endfor %}{% endfor %}',
        }),
      },
    ],
  },
  {
    trait: 'reasoningField',
    conversations: ['reasoning', 'reasoning and a call', 'reasoning, text and a call'],
    templates: [
      { value: 'reasoning_content', source: template() },
      { value: 'reasoning', source: template({ reasoning: '{% if m.reasoning %}<r>{{ m.reasoning }}</r>{% endif %}' }) },
      { value: 'thinking', source: template({ reasoning: '{% if m.thinking %}<r>{{ m.thinking }}</r>{% endif %}' }) },
      {
        value: 'content',
        source: template({
          reasoning: '',
          content:
            "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ '<r>' + p.thinking + '</r>' if p.type == 'thinking' else p.text }}{% endfor %}{% endif %}",
        }),
      },
      {
        value: undefined,
        source: template({ reasoning: '', content: '{{ m.content if m.content is string else m.content | tojson }}' }),
      },
      { value: undefined, source: template({ reasoning: '' }) },
    ],
  },
  {
    trait: 'objectArguments',
    conversations: [...withCalls, 'arguments that are no JSON', 'two rounds behind text'],
    templates: [
      {
        value: true,
        source: template({
          calls: '{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{{ c.function.arguments | tojson }}{% endfor %}',
        }),
      },
      {
        value: false,
        source: template({
          calls: "{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{{ '' + c.function.arguments }}{% endfor %}",
        }),
      },
    ],
  },
  {
    trait: 'anyArguments',
    conversations: [
      'a call and its result',
      'no arguments',
      'arguments that are a list',
      'arguments that are no JSON',
      'two calls',
    ],
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({
          calls:
            '{% for c in m.tool_calls or [] %}<{{ c.function.name }}>{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}',
        }),
      },
    ],
  },
  {
    trait: 'nineCharacterIds',
    conversations: ['a call and its result', 'a long id', 'two calls', 'two rounds behind text', 'a question after a result'],
    templates: [
      {
        value: false,
        source: template({
          calls: '{% for c in m.tool_calls or [] %}<{{ c.id }}>{{ c.function.arguments | tojson }}{% endfor %}',
        }),
      },
      {
        value: true,
        source: template({
          calls: `{% for c in m.tool_calls or [] %}${refuse('c.id | length != 9', 'nine letters')}<{{ c.id | length }}>{{ c.function.arguments | tojson }}{% endfor %}`,
        }),
      },
    ],
  },
  {
    trait: 'system',
    conversations: [...plain, 'two system messages', 'a system message and a call'],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse("m.role == 'system'", 'no system') }) },
      { value: false, source: template({ turn: "{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}" }) },
    ],
  },
  {
    trait: 'systemAnywhere',
    conversations: [
      'a system message',
      'two system messages',
      'a late system message',
      'a system message before the answer',
      'a system message and a call',
    ],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse("m.role == 'system' and not loop.first", 'first') }) },
      {
        value: false,
        source: template({ turn: "{% if m.role != 'system' or loop.first %}<{{ m.role }}>{{ m.content }}{% endif %}" }),
      },
    ],
  },
  {
    trait: 'repeatedUser',
    conversations: ['a question', 'two questions', 'a late system message', 'three turns', 'two answers'],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse(follows('user', 'user'), 'alternate') }) },
    ],
  },
  {
    trait: 'repeatedAssistant',
    conversations: ['a question', 'two answers', 'three turns', 'a call, its result and an answer', 'reasoning'],
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ guard: refuse(follows('assistant', 'assistant'), 'alternate') }) },
    ],
  },
  {
    trait: 'tools',
    conversations: [...plain, 'a call and its result', 'two questions'],
    withTool: true,
    templates: [
      { value: true, source: template() },
      { value: false, source: template({ tools: '' }) },
    ],
  },
  {
    trait: 'anySchema',
    conversations: [...plain, 'a call and its result', 'two questions'],
    withTool: true,
    templates: [
      { value: true, source: template() },
      {
        value: false,
        source: template({
          tools:
            '{% for t in tools or [] %}<tool>{{ t.function.name }}{% for k, p in t.function.parameters.properties.items() %}<{{ k }}>{{ p.type }}{% endfor %}{% endfor %}',
        }),
      },
    ],
  },
  {
    trait: 'noTools',
    conversations: [...plain, 'two questions', 'two answers'],
    templates: [
      { value: null, source: template({ tools: '{% if tools is not none %}<tools>{{ tools | tojson }}{% endif %}' }) },
      { value: [], source: template({ tools: '<{{ tools | length }} tools>' }) },
    ],
  },
  {
    trait: 'functionsAsText',
    conversations: [...plain, 'two questions', 'two answers'],
    withTool: true,
    templates: [
      { value: false, source: template({ tools: '{% if functions %}<functions>{{ functions | tojson }}{% endif %}' }) },
      { value: true, source: template({ tools: "{{ '<functions>' + functions }}" }) },
    ],
  },
  ...callTraitTemplates,
]
