import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { linkTo } from '../../frame/router.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { plainName } from '../../ui/names.ts'
import { formatTime, fullTime } from '../../ui/numbers.ts'
import type { Conversation } from './conversation.ts'

/** Rows drawn at first, and added by each click on the button: people keep thousands. */
const drawnAtOnce = 100

type RowsProps = {
  readonly some: readonly Conversation[]
  readonly current: readonly string[]
  /** The ids of those that are answered now. */
  readonly runs: ReadonlySet<string>
  readonly onPick: () => void
  readonly onAbout: (id: string) => void
  readonly onDelete: (conversation: Conversation) => void
}

export function Rows({ some, current, runs, onPick, onAbout, onDelete }: RowsProps) {
  const [drawn, setDrawn] = useState(drawnAtOnce)
  if (some.length === 0) return null
  return (
    <>
      <ul>
        {some.slice(0, drawn).map((each) => (
          <li key={each.id}>
            <a
              href={linkTo('chat', [each.id])}
              class="conversation"
              aria-current={current.includes(each.id) ? 'true' : undefined}
              onClick={onPick}
            >
              <span class="clip">{plainName(each.title) || chatTexts.untitled}</span>
              <span class="small muted" title={fullTime(each.updatedAtMs)}>
                {each.isPinned === true && `${chatTexts.pinned} · `}
                {runs.has(each.id) ? 'running' : formatTime(each.updatedAtMs, Date.now())}
              </span>
            </a>
            <span class="conversation-acts">
              <IconButton
                icon="more"
                name={chatTexts.about.of(each.title)}
                title={chatTexts.about.title}
                onClick={() => onAbout(each.id)}
              />
              <IconButton
                icon="trash"
                name={chatTexts.deleteOf(each.title)}
                title={chatTexts.delete}
                onClick={() => onDelete(each)}
              />
            </span>
          </li>
        ))}
      </ul>
      {some.length > drawn && (
        <Button kind="plain" onClick={() => setDrawn(drawn + drawnAtOnce)}>
          {chatTexts.more(some.length - drawn)}
        </Button>
      )}
    </>
  )
}

type FolderProps = {
  readonly name: string
  readonly count: number
  readonly opens: boolean
  readonly children: ComponentChildren
}

/** Its rows are drawn while it is open. */
export function Folder({ name, count, opens, children }: FolderProps) {
  const [isOpen, setOpen] = useState(opens)
  return (
    <details class="folder" open={opens} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{chatTexts.folder(name, count)}</summary>
      {isOpen && children}
    </details>
  )
}
