import type { GrammarBuilder } from './grammar-builder.ts'
import type { Schema } from './schema/schema-document.ts'
import { middleOf, taggedText } from './tagged-text.ts'

/** Free text in which each trigger begins one of the structures: the JSON of a schema between two texts. */
export type TaggedOutput = {
  readonly type: 'tagged'
  readonly structures: readonly { readonly begin: string; readonly schema: Schema; readonly end: string }[]
  readonly triggers: readonly string[]
}

const text = 'dragoman-text'

/** Adds the rules of such a text; returns the name of the first. */
export function addTagged(builder: GrammarBuilder, { structures, triggers }: TaggedOutput, param: string): string {
  const tags = triggers.map((trigger) => {
    const ways = structures
      .filter(({ begin }) => begin.startsWith(trigger))
      .map(({ begin, schema, end }) =>
        [builder.literal(begin.slice(trigger.length)), builder.addSchema(schema, { param }), builder.literal(end)].join(' '),
      )
    return { text: trigger, position: 'anywhere', next: `${builder.addRule('tag', ways.join(' | '))} ${middleOf(text)}` } as const
  })
  builder.addNamed(taggedText(tags, text))
  return middleOf(text)
}
