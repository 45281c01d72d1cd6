import { describe, expect, test } from 'vitest'
import type { StartEvent } from '../../contract/event.ts'
import { decodeGenerate } from './decode-generate.ts'
import { ollamaDialects } from './dialects.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('what is wrong with a prompt has the name of its field', () => {
  const { nameOf } = decodeGenerate({ model: 'm', prompt: 'a', system: 's', images: [png, png] }, 'id')
  test.each([
    [['prompt', 'messages', 0], 'system'],
    [['prompt', 'messages', 1, 'content', 1], 'images[1]'],
    [['prompt', 'messages', 1, 'content', 2], 'prompt'],
    [['prompt'], 'prompt'],
    [['prompt', 'suffix'], 'suffix'],
  ] as const)('%j is %s', (path, name) => {
    expect(nameOf(path)).toBe(name)
  })
})

test.each([
  ['asked to', true, { ignored: [['reasoning']] }, true],
  ['asked to, and does', true, { ignored: [['reasoning']], reasons: true }, false],
  ['asked to, and can', true, { ignored: [] }, false],
  ['asked not to', false, { ignored: [['reasoning']] }, false],
  ['not asked', undefined, { ignored: [['reasoning']] }, false],
] as const)('a model that cannot think refuses a request where it is %s', (_, think, start, isRefused) => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], think }
  const decoded = ollamaDialects.chat.decode({ body, headers: {} } as never, { id: 'id' } as never)
  const check = () => ('checkStart' in decoded ? decoded.checkStart?.(start as unknown as StartEvent) : undefined)
  if (isRefused) expect(check).toThrow('does not support thinking')
  else expect(check).not.toThrow()
})
