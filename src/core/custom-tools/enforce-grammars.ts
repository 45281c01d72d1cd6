import type { Tool } from '../../contract/request.ts'
import type { Validator } from '../../contract/validator.ts'
import { parametersOf } from './function-of.ts'

/**
 * The functions that stand for custom tools, with what their grammars allow to be enforced. Rejects with the failure of a grammar that
 * cannot be used.
 */
export function enforceGrammars(
  functions: readonly Tool[],
  declared: readonly Tool[],
  { validator, signal }: { readonly validator: Pick<Validator, 'inputSchema'>; readonly signal: AbortSignal },
): Promise<readonly Tool[]> {
  return Promise.all(
    functions.map(async (made, index) => {
      const custom = declared[index]
      if (custom?.type !== 'custom' || custom.grammar === undefined || made.type === 'custom' || made.type === 'server')
        return made
      const place = ['prompt', 'tools', index, 'grammar', 'definition']
      const input = await validator.inputSchema(custom.grammar, { place, signal })
      return { ...made, enforced: parametersOf(input) }
    }),
  )
}
