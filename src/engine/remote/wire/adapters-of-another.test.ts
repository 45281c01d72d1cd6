import { expect, test } from 'vitest'
import { answer, ask, engineOver, failure, fine, upstream } from '../../../../test/support/upstream/remote-engine.ts'

test.each([
  [{ type: 'named', name: 'legal' }, 'legal'],
  [{ type: 'loaded' }, true],
  [{ type: 'none' }, false],
] as const)('another Dragoman gets the choice of an adapter: %j', async (adapter, sent) => {
  const server = await upstream(fine)
  await answer(engineOver([server], { profile: 'dragoman' }), { ...ask('hi'), adapter })
  expect(server.seen.at(-1)?.body).toMatchObject({ use_adapter: sent })
})

test('a choice of an adapter goes to none but another Dragoman', async () => {
  const [vllm, dragoman] = [await upstream(fine), await upstream(fine)]
  const request = { ...ask('hi'), adapter: { type: 'named', name: 'legal' } } as const
  expect(await failure(engineOver([vllm], { profile: 'vllm' }), request)).toMatchObject({
    code: 'unsupported-field',
    at: ['adapter'],
  })
  expect(await failure(engineOver([dragoman], { profile: 'dragoman', protocol: 'messages' }), request)).toMatchObject({
    code: 'unsupported-field',
    at: ['adapter'],
  })
  expect([...vllm.seen, ...dragoman.seen]).toEqual([])
})
