import { AppError } from '../../contract/errors.ts'
import type { ApiKey } from '../../contract/principal.ts'
import type { ChosenKey, KeyDirectory, ListedKey } from '../../contract/server/keys.ts'
import { hashApiKey, keyId, type MadeKeys, type StoredKey } from './made-keys.ts'

type DirectoryDeps = {
  readonly made: MadeKeys
  /** The configured keys, which change with the configuration. */
  configured(): readonly ApiKey[]
  /** The names of the groups of the configuration. */
  groups(): readonly string[]
  /** Whether callers must send a key. */
  areRequired(): boolean
}

const open =
  'this server asks for no key, since only this machine can reach it: set server.adminKey, or let it listen on another address ' +
  '(server.host), to ask for keys'

/** The keys that the server accepts: configured ones, and made ones that count. */
export function createKeyDirectory({ made, configured, groups, areRequired }: DirectoryDeps): KeyDirectory {
  const counting = (keys: readonly StoredKey[]) => keys.filter((key) => counts(key, configured()))
  const listOf = (keys: readonly StoredKey[]) => [...configured().map(fromConfiguration), ...counting(keys).map(fromMade)]
  return {
    get areRequired() {
      return areRequired()
    },
    get whyNone() {
      return areRequired() ? undefined : open
    },
    async list() {
      await made.refresh()
      return listOf(made.list())
    },
    async make(chosen: ChosenKey, by) {
      if (!areRequired()) throw new AppError('request-conflict', open)
      if (chosen.group !== undefined) checkGroup(chosen.group, groups())
      const checkName = (keys: readonly StoredKey[]) => {
        if (!listOf(keys).some(({ name }) => name === chosen.name)) return
        const message = `a key is called '${chosen.name}': keys of one name would share what they store; choose another name`
        throw new AppError('request-conflict', message, { param: 'name' })
      }
      const { scopes, models, tools, ...rest } = chosen
      const lists = { ...(models !== undefined && { models: [...models] }), ...(tools !== undefined && { tools: [...tools] }) }
      const key = await made.add({ ...rest, ...lists, scopes: [...scopes], madeBy: by }, checkName)
      const stored = made.find(hashApiKey(key))
      if (stored === undefined) throw new AppError('request-conflict', 'the key was deleted immediately; make another one')
      return { key, listed: fromMade(stored) }
    },
    async delete(id) {
      if (configured().some((key) => keyId(key) === id)) {
        const message = `the key '${id}' is in the configuration of the server (server.apiKeys or server.adminKey): remove it there`
        throw new AppError('request-conflict', message, { param: 'id' })
      }
      await made.refresh()
      if (!counting(made.list()).some((key) => keyId(key) === id)) {
        throw new AppError('not-found', `there is no key with the id '${id.slice(0, 100)}'; GET /api/keys lists them`, {
          param: 'id',
        })
      }
      await made.remove(id)
    },
  }
}

/** Throws `invalid-request` for an unknown group. */
export function checkGroup(name: string, groups: readonly string[]): void {
  if (groups.includes(name)) return
  const known = groups.length === 0 ? 'there are none (server.keyGroups)' : `it is one of: ${groups.join(', ')}`
  throw new AppError('invalid-request', `'${name.slice(0, 100)}' is not a group of keys; ${known}`, { param: 'group' })
}

/** Keys of one name would share what they store: one in the configuration has its name alone. */
export function counts({ name }: StoredKey, configured: readonly Pick<ApiKey, 'name'>[]): boolean {
  return name === undefined || configured.every((key) => key.name !== name)
}

function fromMade(stored: StoredKey): ListedKey {
  const { hash: _, scopes, ...rest } = stored
  return { id: keyId(stored), source: 'made', scopes, ...rest }
}

function fromConfiguration(key: ApiKey): ListedKey {
  const { name, scopes, models, limits, group, expiresAtMs } = key
  return {
    id: keyId(key),
    source: 'configuration',
    scopes: [...scopes].filter((scope) => scope !== 'public'),
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models }),
    ...limits,
    ...(group !== undefined && { group: group.name }),
    ...(expiresAtMs !== undefined && { expiresAt: new Date(expiresAtMs).toISOString() }),
  }
}
