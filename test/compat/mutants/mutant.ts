import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A behaviour of Dragoman that is broken on purpose: the text `find`, which a source has once, becomes `replace`. */
export type Mutant = {
  /** The ids of the rows that must notice. */
  readonly rows: readonly [string, ...string[]]
  readonly file: `src/${string}.ts`
  readonly find: string
  readonly replace: string
}

/** Those of all tables: each has a file. */
export async function allMutants(): Promise<readonly Mutant[]> {
  const files = globSync(['?.ts', '?-*.ts'], { cwd: import.meta.dirname }).sort()
  const modules = await Promise.all(files.map((file) => import(join(import.meta.dirname, file))))
  return modules.flatMap(({ mutants }: { mutants: readonly Mutant[] }) => mutants)
}

/** The source of a tree with the change. */
export function mutated({ file, find, replace }: Mutant, root: string): string {
  const [before, after, ...more] = readFileSync(join(root, file), 'utf8').split(find)
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`${file} has ${JSON.stringify(find)} ${after === undefined ? 'nowhere' : 'more than once'}`)
  }
  return before + replace + after
}
