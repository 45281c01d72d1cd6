import { describe, expect, test } from 'vitest'
import { importLargeAnswer, openLargeAnswer } from '../../support/page/large-answer.ts'
import { longestTaskMs } from '../../support/page/longest-task.ts'
import { browserPath, hint, lacks } from '../../support/page/open-page.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'
import { roundsOf } from '../../support/process/soak-length.ts'

const times = (count: number, text: string) => text.repeat(count)
const columns = (count: number) => `|${times(count, 'a|')}\n|${times(count, '-|')}\n|${times(count, 'b|')}`
const nested = (depth: number, begin: string, end: string) => `\\[ ${times(depth, begin)}x${times(depth, end)} \\]`

/**
 * What models write by mistake, or on demand: one of each kind, then others like them. The longest tasks had 20 to 80 ms, the two large
 * blocks of code 110 and 120 (Chromium).
 */
const texts: readonly (readonly [what: string, text: string])[] = [
  ['a link of a million characters', `[a](https://a.example/${times(1_000_000, 'b')})`],
  ['20,000 runs of emphasis', times(20_000, '**a** _b_ ')],
  ['a table of 10,000 columns', columns(10_000)],
  ['fractions in fractions', nested(300, '\\frac{1}{', '}')],
  ['a matrix of 1,000 cells', `\\[ \\begin{matrix}${times(25, `${times(40, 'a&')}b\\\\`)}\\end{matrix} \\]`],
  ['a block of 100,000 lines of code', `\`\`\`js\n${times(100_000, 'let a = 1 // one\n')}\`\`\``],
  ['a megabyte of HTML', times(20_000, '<div class="a"><b>text</b></div>\n')],
  ['a table of 1,300 columns', columns(1300)],
  ['roots in roots', nested(600, '\\sqrt{', '}')],
  ['powers of powers', nested(900, 'x^{', '}')],
  ['brackets in brackets', nested(250, '\\left( a + ', '\\right)')],
  ['a line of a million characters in a block of code', `\`\`\`js\n${times(100_000, 'let a = 1;')}\n\`\`\``],
  ['a line of 400,000 characters of code in colours', `\`\`\`js\n${times(40_000, 'let a = 1;')}\n\`\`\``],
]

describe.skipIf(browserPath === undefined || lacks('the main thread'))(`texts that take long to show${hint}`, () => {
  const { browser, open } = useScriptedPage()

  test.each(texts.slice(0, roundsOf(6, texts.length)))('%s does not hold the page for more than 200 ms', async (_, text) => {
    const { page, close } = await open()
    await importLargeAnswer(page, `${text}\n\nthe end`)
    const longest = await longestTaskMs(browser(), async () => {
      await openLargeAnswer(page)
      if (text.startsWith('\\[')) await page.locator('.md math').waitFor()
      await page.evaluate('new Promise((resolve) => setTimeout(() => requestIdleCallback(resolve), 1500))')
    })
    expect(longest).toBeLessThan(200)
    await close()
  })
})
