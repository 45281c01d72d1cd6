import { useState } from 'preact/hooks'
import { chatTexts } from '../../texts/chat.ts'
import { Button } from '../../ui/button.tsx'
import type { Token } from './conversation.ts'

const shownFirst = 2000

/** The tokens of an answer, tinted by their probability, with the alternatives of the focused one. */
export function TokenView({ tokens }: { readonly tokens: readonly Token[] }) {
  const [at, setAt] = useState<number>(0)
  const [count, setCount] = useState(shownFirst)
  const token = tokens[at]
  const move = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    const next = Math.min(tokens.length - 1, Math.max(0, at + by))
    setAt(next)
    const room = event.currentTarget as HTMLElement
    room.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus()
  }
  return (
    <div class="tokens">
      {/* biome-ignore lint/a11y/useSemanticElements: a group of buttons that are one text. */}
      <div class="tokens-text" role="group" aria-label={chatTexts.tokens} onKeyDown={move}>
        {tokens.slice(0, count).map(({ text, logprob }, index) => (
          <button
            key={index}
            type="button"
            class="token"
            data-at={index}
            data-level={level(logprob)}
            tabIndex={index === at ? 0 : -1}
            aria-pressed={index === at}
            title={`${percent(logprob)} %`}
            onFocus={() => setAt(index)}
            onClick={() => setAt(index)}
          >
            {text}
          </button>
        ))}
        {count < tokens.length && <Button onClick={() => setCount(tokens.length)}>{chatTexts.showAll(tokens.length)}</Button>}
      </div>
      {token !== undefined && (
        <table class="tokens-top" aria-label={chatTexts.alternatives}>
          <tbody>
            {withOwn(token).map(({ text, logprob }) => (
              <tr key={text} data-own={text === token.text ? '' : undefined}>
                <th scope="row">
                  <code>{visible(text)}</code>
                </th>
                <td class="number">{chatTexts.tokenProbability(percent(logprob))}</td>
                <td class="tokens-bar">
                  <span style={{ width: `${100 * Math.exp(logprob)}%` }} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

/** Makes spaces and line ends visible. */
function visible(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll(' ', '␣')
}

/** The alternatives, with the token itself added if it was not among the most probable. */
function withOwn({ text, logprob, top }: Token): readonly { readonly text: string; readonly logprob: number }[] {
  return top.some((other) => other.text === text) ? top : [...top, { text, logprob }]
}

function percent(logprob: number): string {
  const value = 100 * Math.exp(logprob)
  if (value < 0.01) return '< 0.01'
  return value >= 10 ? value.toFixed(0) : value.toFixed(value >= 1 ? 1 : 2)
}

/** 0: almost certain, 4: a surprise. */
function level(logprob: number): number {
  const probability = Math.exp(logprob)
  return [0.9, 0.6, 0.3, 0.1].filter((least) => probability < least).length
}
