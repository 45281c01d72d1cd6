import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longer than their size lets vitest expect, the longest first. One that begins last would run alone at the end. */
const long = [
  'guides',
  'compatibility',
  'release',
  'sandbox-escapes',
  'structured',
  'prefix-cache',
  'forgetting-models',
  'cli',
  'agents',
  'samplers-llama',
  'other-nodes',
  'equal-engines',
  'packed',
  'chat',
  'head-drafts',
  'real-model',
  'workers',
  'places',
  'cli-run',
  'constraints-and-thinking',
  'terminal',
  'docs-site',
  'reload',
  'residency',
  'speculation-llama',
  'load-models',
  'langchain-suite',
  'sandbox-limits',
  'sandbox-hidden-use',
  'store-postgres',
  'floods',
  'models-come-and-go',
  'remote-chaos',
  'heavy-bodies',
  'lying-upstreams',
  'openapi',
  'lying-protocols',
  'cancel-races',
  'hang-ups',
  'unfair-requests',
  'python-clients',
  'silent-replica',
  'responses-restart',
  'public-door',
  'neutral-values',
  'programs',
  'dropped-fields',
  'lifecycle-routes',
  'golden-events',
  'open-store',
  'deploy',
  'hostile-header',
  'responses-resume',
  'converter',
  'control-tokens',
]
const rankOf = ({ moduleId }: TestSpecification) => {
  const rank = long.indexOf(basename(moduleId, '.test.ts'))
  return rank === -1 ? long.length : rank
}

/**
 * Files that are known to be long begin first, the others in vitest's order: by the durations of the last run, else by size. Unit tests come before all
 * others: a fault in them explains faults elsewhere, and their processes are used for the next file only while one of them is next.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
    const isUnit = ({ project }: TestSpecification) => project.name === 'unit'
    return [...sorted.filter(isUnit), ...sorted.filter((file) => !isUnit(file))]
  }
}
