import { expect, test } from 'vitest'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { hashApiKey } from './made-keys.ts'
import { SharedKeys } from './shared-keys.ts'

test('of servers that start together, one makes the first key, and each that has made one keeps it', async () => {
  const join = startPrimary()
  const open = () => SharedKeys.open(shareOver(join().primary).documents)
  const servers = [await open(), await open(), await open()]
  const made = await Promise.all(servers.map((keys) => keys.ensureKey()))
  const [key, ...others] = made.filter((one) => one !== undefined)
  expect(others).toEqual([])
  for (const keys of servers) expect(keys.list().map(({ hash }) => hash)).toEqual([hashApiKey(key ?? '')])
})
