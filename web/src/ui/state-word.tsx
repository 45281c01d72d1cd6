/** A state as a word, with a shape and a colour beside it. */
export function StateWord({ tone, text }: { readonly tone: 'run' | 'good' | 'warn' | 'bad' | 'off'; readonly text: string }) {
  return (
    <span class={`state tone-${tone}`}>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        {shapes[tone]}
      </svg>
      {text}
    </span>
  )
}

const shapes = {
  run: <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" stroke-width="2" />,
  good: <circle cx="5" cy="5" r="4" fill="currentColor" />,
  warn: <path d="M5 1 9.5 9h-9z" fill="currentColor" />,
  bad: <path d="M1.5 1.5l7 7M8.5 1.5l-7 7" stroke="currentColor" stroke-width="2" />,
  off: <path d="M1.5 5h7" stroke="currentColor" stroke-width="2" />,
}
