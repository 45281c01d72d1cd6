import type { OutputCase } from './output-case.ts'

/** How one family of models writes its reasoning. */
type ReasoningStyle = {
  readonly name: string
  /** A piece of a chat template of the family. */
  readonly template: string
  readonly reasoning: { readonly open: string; readonly close: string }
  /** Reasoning, as the model writes it in front of its answer. */
  think(words: string): string
  /** The answer after it. */
  say?(words: string): string
  /** The tags are special tokens, which do not occur in prose. */
  readonly special: boolean
  /** White space after reasoning is layout. */
  readonly trims: boolean
  /** The whole answer is a row of messages in this format. */
  readonly toolFormat?: 'harmony' | 'glimmer' | 'solar' | 'inkling' | 'kimi-k3' | 'command-r7b'
}

const tags = (open: string, close: string) => ({ open, close })

export const reasoningStyles: readonly ReasoningStyle[] = [
  {
    name: 'think on lines of its own',
    template: "{{ '<think>\\n' + reasoning + '\\n</think>\\n\\n' }}",
    reasoning: tags('<think>\n', '\n</think>\n\n'),
    think: (words) => `<think>\n${words}\n</think>\n\n`,
    special: false,
    trims: true,
  },
  {
    name: 'think with one line break after it',
    template: "{{ '<think>\\n' + reasoning + '\\n</think>\\n' }}",
    reasoning: tags('<think>\n', '\n</think>\n'),
    think: (words) => `<think>\n${words}\n</think>\n`,
    special: false,
    trims: true,
  },
  {
    name: 'think without line breaks',
    template: "{{ content.split('</think>')[-1] }}",
    reasoning: tags('<think>', '</think>'),
    think: (words) => `<think>${words}</think>`,
    special: false,
    trims: false,
  },
  {
    name: 'think, trimmed by the template',
    template: "{{ content.split('</think>')[-1].lstrip('\\n') }}",
    reasoning: tags('<think>', '</think>\n\n'),
    think: (words) => `<think>${words}</think>\n`,
    special: false,
    trims: true,
  },
  {
    name: 'Seed',
    template: '<seed:think>',
    reasoning: tags('<seed:think>', '</seed:think>\n'),
    think: (words) => `<seed:think>${words}</seed:think>`,
    special: false,
    trims: true,
  },
  {
    name: 'MiniMax M3',
    template: '<mm:think>',
    reasoning: tags('<mm:think>', '</mm:think>'),
    think: (words) => `<mm:think>${words}</mm:think>`,
    special: false,
    trims: false,
  },
  {
    name: 'Hunyuan',
    template: "{%- set HYTK = ':opensource' %}'<think{}>'.format(HYTK)",
    reasoning: tags('<think:opensource>', '</think:opensource>'),
    think: (words) => `<think:opensource>${words}</think:opensource>`,
    special: false,
    trims: false,
  },
  {
    name: 'LongCat',
    template: '<longcat_think>',
    reasoning: tags('<longcat_think>', '</longcat_think>'),
    think: (words) => `<longcat_think>${words}</longcat_think>`,
    special: false,
    trims: false,
  },
  {
    name: 'Mistral',
    template: '[THINK]',
    reasoning: tags('[THINK]', '[/THINK]'),
    think: (words) => `[THINK]${words}[/THINK]`,
    special: true,
    trims: false,
  },
  {
    name: 'Command',
    template: '<|START_THINKING|>',
    reasoning: tags('<|START_THINKING|>', '<|END_THINKING|>'),
    think: (words) => `<|START_THINKING|>${words}<|END_THINKING|>`,
    special: true,
    trims: false,
  },
  {
    name: 'Command with tags around the answer',
    template: '<|START_THINKING|>',
    reasoning: tags('<|START_THINKING|>', '<|END_THINKING|>'),
    think: (words) => `<|START_THINKING|>${words}<|END_THINKING|>`,
    say: (words) => `<|START_RESPONSE|>${words}<|END_RESPONSE|>`,
    special: true,
    trims: false,
    toolFormat: 'command-r7b',
  },
  {
    name: 'Apertus',
    template: '<|inner_prefix|>',
    reasoning: tags('<|inner_prefix|>', '<|inner_suffix|>'),
    think: (words) => `<|inner_prefix|>${words}<|inner_suffix|>`,
    special: true,
    trims: false,
  },
  {
    name: 'Gemma 4',
    template: '<|channel>thought\\n',
    reasoning: tags('<|channel>thought\n', '<channel|>'),
    think: (words) => `<|channel>thought\n${words}<channel|>`,
    special: true,
    trims: false,
  },
  {
    name: 'Kimi VL',
    template: '◁think▷',
    reasoning: tags('◁think▷', '◁/think▷'),
    think: (words) => `◁think▷${words}◁/think▷`,
    special: true,
    trims: false,
  },
  {
    name: 'Apriel',
    template: '[BEGIN FINAL RESPONSE]',
    reasoning: tags('Here are my reasoning steps:\n', '\n[BEGIN FINAL RESPONSE]\n'),
    think: (words) => `Here are my reasoning steps:\n${words}\n[BEGIN FINAL RESPONSE]\n`,
    special: false,
    trims: true,
  },
  {
    name: 'Granite',
    template: 'Here is my thought process:',
    reasoning: tags('Here is my thought process:', 'Here is my response:'),
    think: (words) => `Here is my thought process:${words}Here is my response:`,
    special: false,
    trims: false,
  },
  {
    name: 'gpt-oss',
    template: "'<|channel|>analysis<|message|>'",
    reasoning: tags('<|channel|>analysis<|message|>', '<|end|>'),
    think: (words) => `<|channel|>analysis<|message|>${words}<|end|>`,
    say: (words) => `<|start|>assistant<|channel|>final<|message|>${words}<|return|>`,
    special: true,
    trims: false,
    toolFormat: 'harmony',
  },
  {
    name: 'Glimmer',
    template: "'<|start|>assistant to=self<|message|>'",
    reasoning: tags(' to=self<|message|>', '<|eom|>'),
    think: (words) => ` to=self<|message|>${words}<|eom|>`,
    say: (words) => `<|start|>assistant to=user<|message|>${words}<|eot|>`,
    special: true,
    trims: false,
    toolFormat: 'glimmer',
  },
  {
    name: 'Solar',
    template: "'<|think|>' + reasoning + '<|end|>'",
    reasoning: tags('<|think|>', '<|end|>'),
    think: (words) => `<|think|>${words}<|end|>`,
    say: (words) => `<|begin|>assistant<|content|>${words}<|end|>`,
    special: true,
    trims: false,
    toolFormat: 'solar',
  },
  {
    name: 'Inkling',
    template: "'<|content_thinking|>' + reasoning + '<|end_message|>'",
    reasoning: tags('<|content_thinking|>', '<|end_message|>'),
    think: (words) => `<|content_thinking|>${words}<|end_message|>`,
    say: (words) => `<|message_model|><|content_text|>${words}<|end_message|>`,
    special: true,
    trims: false,
    toolFormat: 'inkling',
  },
  {
    name: 'Kimi K3',
    template: "{{ open_tag('think') }}",
    reasoning: tags('<|open|>think<|sep|>', '<|close|>think<|sep|>'),
    think: (words) => `<|open|>think<|sep|>${words}<|close|>think<|sep|>`,
    say: (words) => `<|open|>response<|sep|>${words}<|close|>response<|sep|>`,
    special: true,
    trims: false,
    toolFormat: 'kimi-k3',
  },
]

/** What every style must be able to say, cut anywhere. */
export function reasoningCases({
  reasoning,
  think,
  say = (words) => words,
  special,
  trims,
  toolFormat,
}: ReasoningStyle): OutputCase[] {
  const { close } = reasoning
  const [open, end] = [reasoning.open.trim(), close.trim()]
  const afterOpen = (words: string) => think(words).slice(think(words).indexOf(words))
  const isTagged = toolFormat === undefined
  return [
    { name: 'reasoning and text', raw: think('Let me see.') + say('Hello.'), reasoning: 'Let me see.', text: 'Hello.' },
    {
      name: 'lines and letters of all kinds in reasoning',
      raw: think('1. é 東京 😀\n\n2. "q" {a: [1]} < & >\n   end') + say('Ja.'),
      reasoning: '1. é 東京 😀\n\n2. "q" {a: [1]} < & >\n   end',
      text: 'Ja.',
    },
    { name: 'only reasoning', raw: think('Only this.'), reasoning: 'Only this.' },
    {
      name: 'reasoning that the prompt has begun',
      raw: afterOpen('Sure?') + say('Yes.'),
      startsInReasoning: true,
      reasoning: 'Sure?',
      text: 'Yes.',
    },
    {
      name: 'reasoning that the prompt has begun and nothing ends',
      raw: 'I keep thinking.',
      startsInReasoning: true,
      reasoning: 'I keep thinking.',
    },
    {
      name: 'reasoning that a limit ended',
      raw: think('Then I').slice(0, think('Then I').indexOf('Then I') + 6),
      truncated: true,
      reasoning: 'Then I',
    },
    {
      name: 'text of many lines',
      raw: think('Hm.') + say('# A\n\n- b\n- c\n\nd'),
      reasoning: 'Hm.',
      text: '# A\n\n- b\n- c\n\nd',
    },
    {
      name: 'tags of other families in text',
      raw: think('Hm.') + say('<reflect>a</reflect> [X]'),
      reasoning: 'Hm.',
      text: '<reflect>a</reflect> [X]',
    },
    {
      name: 'the beginning of the end tag in reasoning',
      raw: think(`a ${end.slice(0, 3)} b ${end.slice(0, -1)} c`) + say('Yes.'),
      reasoning: `a ${end.slice(0, 3)} b ${end.slice(0, -1)} c`,
      text: 'Yes.',
    },
    { name: 'JSON as the answer', raw: think('As JSON.') + say('{"a": [1, 2]}'), reasoning: 'As JSON.', text: '{"a": [1, 2]}' },
    ...(toolFormat === undefined
      ? []
      : [
          {
            name: 'an answer that begins inside of reasoning',
            raw: afterOpen('Hm.').slice(0, 3) + say('Yes, <b>.'),
            startsInReasoning: true,
            reasoning: 'Hm.',
            text: 'Yes, <b>.',
          },
        ]),
    { name: 'no reasoning', raw: say('Plain words, 1 < 2.'), text: 'Plain words, 1 < 2.' },
    ...(isTagged
      ? [
          {
            name: 'a tag that the prompt has written already',
            raw: think('Again.') + say('Yes.'),
            startsInReasoning: true,
            reasoning: 'Again.',
            text: 'Yes.',
          },
          { name: 'empty reasoning', raw: `${reasoning.open}${close}Hi.`, text: 'Hi.' },
          {
            name: 'white space around the text',
            raw: `${think('Hm.')} \n Hi. \n`,
            reasoning: 'Hm.',
            text: trims ? 'Hi. \n' : ' \n Hi. \n',
          },
        ]
      : []),
    ...(special || !isTagged
      ? []
      : [
          {
            name: 'the tags in the middle of text',
            raw: `Write ${open} and ${end} there.`,
            text: `Write ${open} and ${end} there.`,
          },
          { name: 'reasoning that begins in the middle', raw: `Well. ${think('x')}`, text: `Well. ${think('x')}` },
        ]),
    ...(special && isTagged ? [{ name: 'an end tag alone', raw: `Hi.${end} There.`, text: 'Hi. There.' }] : []),
  ]
}
