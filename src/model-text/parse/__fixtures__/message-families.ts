import { bare, type Family, json, members, type WrittenCall } from './output-case.ts'

const weather = '{"city": "Oslo"}'
const oslo = [{ name: 'get_weather', arguments: weather }]
const endsItself = 'only the end of a message ends it'

const harmonyCall = (call: WrittenCall) =>
  `<|channel|>commentary to=functions.${call.name} <|constrain|>json<|message|>${json(call.arguments)}<|call|>`
const glimmerCall = (call: WrittenCall) =>
  ` to=${call.name}<|message|><atem:function_calls>\n<atem:invoke name="${call.name}">\n${members(call.arguments)
    .map(([key, value]) => `<atem:parameter name="${key}">${bare(value)}</atem:parameter>\n`)
    .join('')}</atem:invoke>\n</atem:function_calls><|eom|>`
const open = (tag: string) => `<|open|>${tag}<|sep|>`
const close = (tag: string) => `<|close|>${tag}<|sep|>`
const kimiCall = (call: WrittenCall, index: number) =>
  open(`call tool="${call.name}" index="${index + 1}"`) +
  members(call.arguments)
    .map(([key, value]) => {
      const type =
        typeof value === 'string'
          ? 'string'
          : typeof value === 'boolean'
            ? 'boolean'
            : Array.isArray(value)
              ? 'array'
              : typeof value === 'object' && value !== null && !('digits' in value)
                ? 'object'
                : 'number'
      return open(`argument key="${key}" type="${type}"`) + bare(value) + close('argument')
    })
    .join('') +
  close('call')

/** Families whose answers are rows of messages. */
export const messageFamilies: readonly Family[] = [
  {
    format: 'harmony',
    reasoning: { open: '<|channel|>analysis<|message|>', close: '<|end|>' },
    write: (calls) => calls.map(harmonyCall).join('<|start|>assistant'),
    answer: ({ thought, text = '', calls, after = '' }) =>
      [
        ...(thought === undefined ? [] : [`<|channel|>analysis<|message|>${thought}<|end|>`]),
        ...(text === '' ? [] : [`<|channel|>commentary<|message|>${text}<|end|>`]),
        ...calls.map(harmonyCall),
        ...(after === '' ? [] : [`<|channel|>final<|message|>${after}<|return|>`]),
      ].join('<|start|>assistant'),
    marks: ['<|channel|>', '<|constrain|>'],
    except: {
      'call in open reasoning': endsItself,
      'unknown tool': 'its delimiters are no text',
      'code span': 'a message is text or a call',
      fence: 'a message is text or a call',
    },
    cases: [
      {
        name: 'the recipient before the channel',
        raw: ` to=functions.get_weather<|channel|>commentary json<|message|>${weather}<|call|>`,
        calls: oslo,
      },
      {
        name: 'a tool that the model was trained with',
        raw: '<|channel|>commentary to=browser.open code<|message|>{"id": 1}<|call|>',
        text: '{"id": 1}',
      },
      {
        name: 'a tool that the model was trained with, in front of its answer',
        raw: '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=python<|channel|>commentary<|message|>print(1)\n<|call|><|start|>assistant<|channel|>final<|message|>One.<|return|>',
        reasoning: 'Hm.',
        text: 'print(1)\nOne.',
      },
      {
        name: 'a channel that begins where no message ended',
        raw: `<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>So:<|channel|>commentary to=functions.get_weather<|message|>${weather}<|call|>`,
        reasoning: 'Hm.',
        text: 'So:',
        calls: oslo,
      },
      {
        name: 'a recipient with spaces around the sign',
        raw: `<|channel|>commentary to = functions.get_weather <|constrain|>json<|message|>${weather}<|call|>`,
        calls: oslo,
      },
      {
        name: 'a call that ends behind its name',
        raw: '<|channel|>commentary to=functions.now <|constrain|>json<|call|>',
        calls: [{ name: 'now', arguments: '{}' }],
      },
      {
        name: 'a text that ends behind the name of a call',
        raw: '<|channel|>commentary to=functions.now <|constrain|>json',
        calls: [{ name: 'now', arguments: '{}' }],
      },
      {
        name: 'a text that ends behind the name of a call that needs arguments',
        raw: '<|channel|>commentary to=functions.get_weather <|constrain|>json',
        text: 'commentary to=functions.get_weather json',
      },
      {
        name: 'arguments right behind the header',
        raw: `<|channel|>commentary to=functions.get_weather <|constrain|>json${weather}<|call|>`,
        calls: oslo,
      },
      {
        name: 'words for a tool that takes an object',
        raw: '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>Oslo<|call|>',
        text: 'Oslo',
      },
      {
        name: 'a recipient without its namespace',
        raw: `<|channel|>commentary to=get_weather <|constrain|>json<|message|>${weather}<|call|>`,
        calls: oslo,
      },
      {
        name: 'such a recipient before the channel',
        raw: ` to=get_weather<|channel|>commentary json<|message|>${weather}<|call|>`,
        calls: oslo,
      },
      { name: 'final only', raw: '<|channel|>final<|message|>Hi there.<|return|>', text: 'Hi there.' },
      {
        name: 'analysis, then final',
        raw: '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>',
        reasoning: 'Hm.',
        text: 'Hi.',
      },
      { name: 'no end of the call', raw: `<|channel|>commentary to=functions.get_weather<|message|>${weather}`, calls: oslo },
      {
        name: 'a quoted delimiter',
        raw: '<|channel|>final<|message|>The token "<|end|>" ends it.<|return|>',
        text: 'The token "<|end|>" ends it.',
      },
    ],
  },
  {
    format: 'glimmer',
    reasoning: { open: ' to=self<|message|>', close: '<|eom|>' },
    write: (calls) => calls.map(glimmerCall).join('<|start|>assistant'),
    answer: ({ thought, text = '', calls, after = '' }) =>
      [
        ...(thought === undefined ? [] : [` to=self<|message|>${thought}<|eom|>`]),
        ...(text === '' ? [] : [` to=user<|message|>${text}<|eom|>`]),
        ...calls.map(glimmerCall),
        ...(after === '' ? [] : [` to=user<|message|>${after}<|eot|>`]),
      ].join('<|start|>assistant'),
    marks: ['</atem:function_calls>', '</atem:parameter', '</atem:invoke>'],
    except: {
      'call in open reasoning': endsItself,
      'unknown tool': 'its delimiters are no text',
      'code span': 'a message is text or a call',
      fence: 'a message is text or a call',
    },
    cases: [
      { name: 'text only', raw: ' to=user<|message|>Hi there.<|eot|>', text: 'Hi there.' },
      { name: 'no recipient', raw: '<|message|>Hi there.<|eot|>', text: 'Hi there.' },
      { name: 'JSON in the message', raw: ` to=get_weather<|message|>${weather}<|eom|>`, calls: oslo },
    ],
  },
  {
    format: 'kimi-k3',
    reasoning: { open: '<|open|>think<|sep|>', close: '<|close|>think<|sep|>' },
    write: (calls) => open('tools') + calls.map(kimiCall).join('') + close('tools'),
    answer({ thought, text = '', calls, after = '' }) {
      return (
        (thought === undefined ? '' : open('think') + thought + close('think')) +
        (text === '' ? '' : open('response') + text + close('response')) +
        (calls.length === 0 ? '' : this.write(calls)) +
        (after === '' ? '' : open('response') + after + close('response')) +
        close('message') +
        '<|end_of_msg|>'
      )
    },
    except: { 'call in open reasoning': 'its delimiters are no reasoning', 'unknown tool': 'its delimiters are no text' },
    marks: ['</argument>', '<call>', 'index="1"'],
    cases: [
      {
        name: 'text only',
        raw: `${open('response')}Hi there.${close('response')}${close('message')}<|end_of_msg|>`,
        text: 'Hi there.',
      },
      {
        name: 'a number that is text',
        raw: `${open('tools')}${kimiCall({ name: 'search', arguments: { query: '42' } }, 0)}${close('tools')}`,
        calls: [{ name: 'search', arguments: '{"query":"42"}' }],
      },
    ],
  },
]
