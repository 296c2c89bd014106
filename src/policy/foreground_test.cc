#include "policy/foreground.h"

#include <gtest/gtest.h>

namespace cove::policy {
namespace {

using Kind = ForegroundAdvice::Kind;

ForegroundAdvice judge(std::string_view text) { return judge_foreground(parse_shell(text)); }

TEST(Foreground, RefusesWhatLeavesItsCommand) {
  for (const char* text : {"nohup x &", "nohup x", "nohup ./server > log 2>&1 &", "setsid x", "setsid -f x",
                           "a; disown", "x & disown", "sudo nohup x", "sh -c 'nohup x'", "setsid x & disown"}) {
    EXPECT_EQ(judge(text).kind, Kind::refused) << text;
    EXPECT_NE(judge(text).sentence.find("background: true"), std::string::npos) << text;
  }
  EXPECT_EQ(judge("nohup x &").rule, "detach");
}

TEST(Foreground, RefusesJobsThatNobodyLooksAfter) {
  for (const char* text :
       {"x &", "x & echo started", "a && x &", "(x &)", "{ x; } &", "x & y", "x&", "python app.py &"}) {
    EXPECT_EQ(judge(text).rule, "background") << text;
  }
}

TEST(Foreground, RefusesServers) {
  for (const char* text : {"npm start",
                           "npm run dev",
                           "npm run start:prod",
                           "yarn dev",
                           "pnpm run watch",
                           "bun run dev",
                           "cd app && npm run serve",
                           "docker compose up",
                           "docker compose -f x.yml up",
                           "docker-compose up web",
                           "vite",
                           "vite --port 3",
                           "npx vite",
                           "nodemon app.js",
                           "uvicorn app:app --reload",
                           "gunicorn -w 4 app:app",
                           "python -m http.server",
                           "python3 -m http.server 80",
                           "python manage.py runserver",
                           "./manage.py runserver",
                           "flask run",
                           "next dev",
                           "ng serve",
                           "rails s",
                           "php -S localhost:8",
                           "mkdocs serve",
                           "hugo server",
                           "jest --watch",
                           "uv run uvicorn a:b",
                           "poetry run flask run",
                           "python -m flask run",
                           "python -u -m http.server",
                           "sudo npm start",
                           "kubectl port-forward svc/x 80"}) {
    EXPECT_EQ(judge(text).kind, Kind::refused) << text;
    EXPECT_EQ(judge(text).rule, "server") << text;
  }
}

TEST(Foreground, HintsAtWhatNeverEnds) {
  for (const char* text : {"tail -f log", "tail -F log | grep x", "journalctl -f -u x", "watch ls", "sleep infinity",
                           "ping host", "kubectl logs -f pod", "docker logs --follow c", "top", "vim x", "less x"}) {
    EXPECT_EQ(judge(text).kind, Kind::hint) << text;
  }
}

TEST(Foreground, LeavesEverythingElseAlone) {
  for (const char* text : {"git commit -m \"nohup x &\"",
                           "git commit -m 'npm start'",
                           "echo 'x &'",
                           "echo \"a & b\"",
                           "echo a \\& b",
                           "cat <<E\na & b\nnohup x &\nE",
                           "cat > run.sh <<'E'\nnohup npm start &\nE",
                           "# nohup x &",
                           "ls # x &",
                           "make |& tee l",
                           "echo $((5&3))",
                           "case x in a) b;;& *) c;; esac",
                           "x 2>&1",
                           "x &>f",
                           "x &>> f",
                           "x >&2",
                           "a && b",
                           "a & b & wait",
                           "server & pid=$!; sleep 1; curl x; kill $pid",
                           "npm start & sleep 3; kill %1",
                           "x & wait $!",
                           "docker compose up -d",
                           "docker compose up --detach",
                           "docker-compose up -d web",
                           "docker compose up --wait",
                           "docker compose down",
                           "docker compose build",
                           "npm run build",
                           "npm test",
                           "npm install",
                           "npm ci",
                           "npm init",
                           "vite build",
                           "uvicorn --version",
                           "uvicorn --help",
                           "npm start --help",
                           "gunicorn -D app",
                           "gunicorn --daemon app",
                           "nohup --help",
                           "setsid -w x",
                           "setsid --wait x",
                           "timeout 5 npm start",
                           "timeout 10 tail -f log",
                           "tail -n 5 log",
                           "tail --pid=5 -f log",
                           "ping -c 1 host",
                           "python -m pytest",
                           "python app.py",
                           "python manage.py migrate",
                           "flask db upgrade",
                           "next build",
                           "rails db:migrate",
                           "sleep 5",
                           "top -b -n 1",
                           "git log | less",
                           "f() { nohup x & }",
                           "f() { npm start; }",
                           "grep -r 'docker compose up' .",
                           "echo npm start",
                           "which nohup",
                           "man setsid",
                           "x=$(sleep 1 & echo a)",
                           "kill 5",
                           "cargo build",
                           "tsc",
                           "curl 'http://x?a=1&b=2'",
                           "curl http://x?a=1\\&b=2",
                           ""}) {
    EXPECT_EQ(judge(text).kind, Kind::fine) << text << "\n" << judge(text).rule << ": " << judge(text).sentence;
  }
}

TEST(Foreground, FunctionsCountWhenTheyAreCalled) {
  EXPECT_EQ(judge("f() { npm start; }; f").rule, "server");
  EXPECT_EQ(judge("f() { npm start; f; }").kind, Kind::fine);
}

}  // namespace
}  // namespace cove::policy
