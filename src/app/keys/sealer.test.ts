import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Sealer } from '../../contract/sealer.ts'
import type { SharedDocuments } from '../../contract/server/shared.ts'
import { createSealer } from './sealer.ts'

const log = pino({ enabled: false })
const newHome = () => mkdtemp(join(tmpdir(), 'dragoman-sealer-'))

test('what one process seals, another with the same data folder opens', async () => {
  const home = await newHome()
  // Both start at once, and agree on a key.
  const [one, other] = (await Promise.all([createSealer({ home, log, env: {} }), createSealer({ home, log, env: {} })])).map(
    (sealerOf) => sealerOf('laptop'),
  ) as [Sealer, Sealer]
  const sealed = one.seal('Grüße 🌄')
  expect(sealed).toMatch(/^dg1\.[\w-]+$/)
  expect(other.open(sealed)).toBe('Grüße 🌄')
  expect(one.seal('Grüße 🌄')).not.toBe(sealed)
})

test('what was changed, or sealed elsewhere or for another caller, is not opened', async () => {
  const env = { DRAGOMAN_SEAL_KEY: 'one' }
  const home = await newHome()
  const sealer = (await createSealer({ home, log, env }))('laptop')
  const sealed = sealer.seal('Hm.')
  const changed = sealed.slice(0, 20) + (sealed[20] === 'A' ? 'B' : 'A') + sealed.slice(21)
  for (const text of ['', 'dg1.', 'EqQB', sealed.slice(0, -1), changed]) expect(sealer.open(text)).toBeUndefined()
  const stranger = (await createSealer({ home, log, env: { DRAGOMAN_SEAL_KEY: 'two' } }))('laptop')
  expect(stranger.open(sealed)).toBeUndefined()
  const machine = await createSealer({ home: await newHome(), log, env })
  expect(machine('laptop').open(sealed)).toBe('Hm.')
  for (const owner of ['', 'anyone', 'laptop2', 'lapto']) expect(machine(owner).open(sealed)).toBeUndefined()
})

test('only the owner can read the key', async () => {
  const home = await newHome()
  await createSealer({ home, log, env: {} })
  expect((await stat(join(home, 'seal-key'))).mode & 0o777).toBe(0o600)
  expect(Buffer.from(await readFile(join(home, 'seal-key'), 'utf8'), 'base64')).toHaveLength(32)
})

test('a damaged key is not used, and not replaced', async () => {
  const home = await newHome()
  await writeFile(join(home, 'seal-key'), 'short')
  const sealer = (await createSealer({ home, log, env: {} }))('anyone')
  expect(sealer.open(sealer.seal('x'))).toBe('x')
  expect(await readFile(join(home, 'seal-key'), 'utf8')).toBe('short')
})

test('servers with one store have one key, and what the first has sealed before stays readable', async () => {
  const homes = await Promise.all([newHome(), newHome()])
  const before = (await createSealer({ home: homes[0], log, env: {} }))('laptop').seal('Hm.')
  let document: unknown
  const documents = {
    change: async (_: string, edit: (json: unknown) => unknown) => {
      document = edit(document)
    },
  } as SharedDocuments
  const sealers: Sealer[] = []
  for (const home of homes) sealers.push((await createSealer({ home, documents, log, env: {} }))('laptop'))
  for (const sealer of sealers) expect(sealer.open(before)).toBe('Hm.')
  expect(sealers[0]?.open(sealers[1]?.seal('So.') ?? '')).toBe('So.')
  const damaged = await newHome()
  await writeFile(join(damaged, 'seal-key'), 'short')
  expect((await createSealer({ home: damaged, documents, log, env: {} }))('laptop').open(before)).toBe('Hm.')
})
