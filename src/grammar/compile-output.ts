import { givenGrammar } from './given-grammar.ts'
import { type CompiledGrammar, createGrammarBuilder, type GrammarBuilder } from './grammar-builder.ts'
import type { Schema } from './schema/schema-document.ts'
import { addTagged, type TaggedOutput } from './tagged-output.ts'

/** The structure of an output. `strict`: refuse what the grammar cannot enforce. */
export type OutputStructure =
  | { readonly type: 'json-object' }
  | { readonly type: 'json-schema'; readonly schema: Schema; readonly strict: boolean; readonly name?: string }
  | { readonly type: 'regex'; readonly pattern: string }
  | TaggedOutput

/** An output or a caller's own grammar, and the caller's name for it, which errors quote. */
export type GrammarRequest = {
  readonly output: OutputStructure | { readonly type: 'gbnf'; readonly grammar: string }
  readonly param: string
  /** Allowed in place of the output, but for a caller's own grammar. */
  readonly or?: { readonly output: OutputStructure; readonly param: string; readonly tags?: Tags }
}

/** Texts that may stand around it. */
type Tags = { readonly open: string; readonly close: string }

/** The grammar of an output; a caller's own is checked. Throws a `GrammarError`. */
export function compileOutput({ output, param, or }: GrammarRequest): CompiledGrammar {
  if (output.type === 'gbnf') {
    return { grammar: givenGrammar(output.grammar, { param }), enforcement: 'full', unenforced: [] }
  }
  const builder = createGrammarBuilder()
  const root = addOutput(builder, output, param)
  const compiled = builder.build(root)
  if (or === undefined) return compiled
  // Gaps in the other's grammar do not affect the enforcement of the output.
  const other = builder.addRule('other', addOutput(builder, or.output, or.param))
  const tagged = or.tags === undefined ? '' : `| ${builder.literal(or.tags.open)} ${other} ${builder.literal(or.tags.close)}`
  return { ...compiled, grammar: builder.build(`${root} | ${other} ${tagged}`).grammar }
}

/** Adds an output to a grammar; returns the name of its rule. */
export function addOutput(builder: GrammarBuilder, output: OutputStructure, param: string): string {
  switch (output.type) {
    case 'regex':
      return builder.addRegex(output.pattern, { param })
    case 'json-object':
      return builder.addAnyObject()
    case 'json-schema': {
      const { schema, strict, name = 'output' } = output
      return builder.addSchema(schema, { strict, param, name })
    }
    case 'tagged':
      return addTagged(builder, output, param)
  }
}
