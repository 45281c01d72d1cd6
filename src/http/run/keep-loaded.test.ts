import { expect, test } from 'vitest'
import type { Principal } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { keepLoaded } from './keep-loaded.ts'

const wish = { ms: 60_000, field: 'keep_alive' }

/** For how long a caller's wish kept a model, and the fields that are reported as ignored. */
function outcome(scopes: Principal['scopes'], asked: typeof wish | undefined) {
  const kept: number[] = []
  const model = { resident: { keepFor: (ms: number) => void kept.push(ms) } } as unknown as ServedModel
  const { ignored, keep } = keepLoaded(asked, { id: 'caller', scopes })
  keep(model)
  return { kept, ignored }
}

test('a key with admin keeps a model loaded', () => {
  expect(outcome(new Set(['inference', 'admin']), wish)).toEqual({ kept: [60_000], ignored: [] })
})

test('the wish of a key without admin has no effect, and is reported as ignored', () => {
  expect(outcome(new Set(['inference']), wish)).toEqual({ kept: [], ignored: ['keep_alive'] })
})

test('without a wish, nothing is kept or reported', () => {
  expect(outcome(new Set(['admin']), undefined)).toEqual({ kept: [], ignored: [] })
  expect(outcome(new Set(['inference']), undefined)).toEqual({ kept: [], ignored: [] })
})
