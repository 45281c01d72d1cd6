import type { Engine, EngineCapabilities } from '../../../src/contract/engine.ts'

/** An engine's capability by name; fails the test without it. */
export function capability<Name extends keyof EngineCapabilities>(
  { capabilities }: Pick<Engine, 'capabilities'>,
  name: Name,
): NonNullable<EngineCapabilities[Name]> {
  const found = capabilities[name]
  if (found === undefined) throw new Error(`the engine has no ${name}`)
  return found
}
