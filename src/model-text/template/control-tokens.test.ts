import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Attack, attacksWith, type ChatRequest, fullRequest } from '../../../test/support/hostile/hostile-requests.ts'
import { compileChatTemplate } from './chat-template.ts'
import { splitPrompt } from './literal-text.ts'

const special = ['<|im_start|>', '<|im_end|>', '<s>', '<think>', '</think>', '<tool_call>', '</tool_call>', '<par=x>', '[INST]']

const start = "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}{{ ' ' ~ m.name if m.name }}\n"
const end = '<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
const variables =
  '{{ reasoning_effort }}{{ custom }}{{ nested }}{{ date_string }}{% for d in documents or [] %}{{ d.title ~ d.text }}{% endfor %}'

/** Templates that print everything, each in a way of its own. */
const templates: Readonly<Record<string, string>> = {
  json: `${variables}{{ tools | tojson }}${start}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c | tojson }}</tool_call>{% endfor %}{{ m.tool_call_id }}${end}`,
  'ASCII JSON and repr': `${variables}{{ tools | tojson(ensure_ascii=true, indent=2) }}{{ tools }}${start}{{ m.content | tojson }}{{ [m.reasoning_content] }}{% for c in m.tool_calls or [] %}{{ c }}{{ c.function.arguments | tojson | tojson }}{% endfor %}{{ [m.tool_call_id] }}${end}`,
  'parts of texts': `${variables.replace('custom', 'custom | upper | lower')}{% for t in tools or [] %}{{ t.function.name ~ t.function.description }}{% for k, v in t.function.parameters.properties | items %}<par={{ k }}>{{ v.description | default('') | trim }}{% endfor %}{% endfor %}${start}{{ m.content.split('x')[-1] | trim | replace('\\n', '') }}{{ m.content[::-1][::-1] }}{% for c in m.tool_calls or [] %}[{{ c.function.name }}]{% if c.function.arguments is mapping %}{% for k, v in c.function.arguments | items %}<par={{ k }}>{{ v if v is string else v | tojson }}{% endfor %}{% endif %}{% endfor %}${end}`,
  'texts built in pieces': `{% macro show(m) %}{% set t %}{{ m.content }}{{ m.reasoning_content }}{% endset %}{{ '%s' % t ~ '{}'.format(m.name or '') }}{% for c in m.tool_calls or [] %}{{ [c.id, c.function.name, c.function.arguments | string] | join('') }}{% endfor %}{% endmacro %}${variables}{{ tools | map(attribute='function.description') | join if tools }}${start}{{ show(m) | indent(2) }}${end}`,
  'no tools, no system': `{{ bos_token }}{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('no') }}{% endif %}[INST]{{ m.content }}{% endfor %}{# <tool_call> #}`,
}

const attacks = ['<|im_end|>', '<s>', '</think>', '[INST]'].flatMap((token) => attacksWith(token))

type Compiled = ReturnType<typeof compileChatTemplate>

/** The special tokens of a prompt: what a tokenizer reads in the segments that are not literal. */
function tokensOf(template: Compiled, { prompt, reasoning }: ChatRequest): readonly string[] {
  const pattern = new RegExp(special.map((text) => text.replace(/[|[\]]/g, '\\$&')).join('|'), 'g')
  const segments = splitPrompt(template.render(prompt, { reasoning }).traced, special)
  return segments.flatMap(({ text, literal }) => (literal ? [] : (text.match(pattern) ?? [])))
}

const continued = (request: ChatRequest): ChatRequest => ({ ...request, prompt: { ...request.prompt, start: 'last-message' } })

describe.each(Object.entries(templates))('with a template that prints %s', (_, source) => {
  const template = compileChatTemplate(source, { bos: '<s>' })

  test('a caller makes no special token, whatever string of a request has one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...attacks), fc.boolean(), (each: Attack, continues) => {
        const [request, clean] = continues ? [continued(each.request), continued(each.clean)] : [each.request, each.clean]
        expect(tokensOf(template, request), each.name).toEqual(tokensOf(template, clean))
      }),
      { numRuns: 60 },
    )
  })

  test('a prefix does not complete what a continued message began', () => {
    const { prompt } = fullRequest
    const messages = prompt.messages.slice(0, 3)
    const last = (words: string, responsePrefix: string): ChatRequest => ({
      ...fullRequest,
      prompt: {
        ...prompt,
        start: 'last-message',
        responsePrefix,
        messages: [...messages, { role: 'assistant', parts: [{ type: 'text', text: words }] }],
      },
    })
    expect(tokensOf(template, last('so <|im_', 'end|>'))).toEqual(tokensOf(template, last('so', 'on')))
  })
})
