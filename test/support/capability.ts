import type { Engine, EngineCapabilities } from '../../src/contract/engine.ts'

/** What an engine can do besides generating, by name; that it cannot is the test's failure. */
export function capability<Name extends keyof EngineCapabilities>(
  { capabilities }: Pick<Engine, 'capabilities'>,
  name: Name,
): NonNullable<EngineCapabilities[Name]> {
  const found = capabilities[name]
  if (found === undefined) throw new Error(`the engine has no ${name}`)
  return found
}
