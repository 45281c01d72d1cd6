import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { isFullLength } from '../support/process/soak-length.ts'
import { allowedSkips } from './allowed-skips.ts'
import { allowedInNightly, closingLines, type RanTest } from './closing.ts'

/** Prints what was retried and skipped, then the one line that CI reads: how many tests passed, failed and were skipped. */
export default class ClosingLine implements Reporter {
  #vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    // What fails outside of tests.
    const outside = errors.map((): RanTest => ({ name: '', state: 'failed', isFlaky: false }))
    const isChosen = this.#vitest?.config.testNamePattern !== undefined
    const listed = isFullLength ? allowedInNightly(allowedSkips) : allowedSkips
    const skips = isChosen ? [{ why: 'not chosen', tests: [''] }] : listed
    const lines = closingLines([...modules.flatMap(testsOf), ...outside], skips, process.env.SKIPS === 'listed')
    if (!lines.at(-1)?.includes(' 0 failed')) process.exitCode = 1
    console.log(`\n${lines.join('\n')}`)
  }
}

function testsOf(module: TestModule): RanTest[] {
  const file = module.relativeModuleId
  const tests = [...module.children.allTests()].map((test) => ({
    name: `${file} > ${test.fullName}`,
    state: test.result().state,
    isFlaky: test.diagnostic()?.flaky === true,
    failure: test.result().errors?.map(({ message, diff = '' }) => `${message} ${stripVTControlCharacters(diff)}`)[0],
  }))
  // It cannot be loaded, or what its tests need cannot be prepared.
  const hasFailedItself = !module.ok() && !tests.some(({ state }) => state === 'failed')
  return hasFailedItself ? [...tests, { name: file, state: 'failed', isFlaky: false }] : tests
}
