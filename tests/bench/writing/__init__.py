"""What writing promises, tried for long: killed writers, rivals, and the time that publishing takes."""
